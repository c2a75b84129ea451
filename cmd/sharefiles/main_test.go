package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scalebench/scalebench/internal/cli"
	"github.com/scalebench/scalebench/test/skip"
)

var testEdition = edition{version: "1.2.3", date: time.Unix(1700000000, 0).UTC()}

// TestPage shows everything that a page can have, in roff.
func TestPage(t *testing.T) {
	skip.IfShort(t)
	root := &cobra.Command{Use: "scalebench"}
	cmd := &cobra.Command{
		Use: "measure FILE", Short: "take 90 % — at least", Run: func(*cobra.Command, []string) {},
		Long: "Runs `cmd` on \"FILE\", it's\n.5 of C:\\dir.\n\n  a   ~/x\n    b ^y\n\nEnd.", Example: "  scalebench measure -\n  scalebench  measure x",
	}
	cmd.Flags().StringP("output", "o", "", "write to `PATH`")
	cmd.Flags().Int("trials", 3, "how often")
	cmd.Flags().Bool("secret", false, "for the server")
	if err := cmd.Flags().MarkHidden("secret"); err != nil {
		t.Fatal(err)
	}
	root.AddCommand(cmd)
	want := `.TH SCALEBENCH-MEASURE 1 2023-11-14 "scalebench 1.2.3" "scalebench manual"
.nh
.ad l
.SH NAME
scalebench\-measure \- take 90 % \[u2014] at least
.SH SYNOPSIS
\fBscalebench measure\fR FILE [flags]
.SH DESCRIPTION
Runs \fBcmd\fR on "FILE", it\(aqs
\&.5 of C:\edir.
.PP
.RS 2
.nf
a   \(ti/x
  b \(hay
.fi
.RE
.PP
End.
.SH OPTIONS
.TP
\fB\-h\fR, \fB\-\-help\fR
help for measure
.TP
\fB\-o\fR, \fB\-\-output\fR \fIPATH\fR
write to PATH
.TP
\fB\-\-trials\fR \fIint\fR
how often (default 3)
.PP
The options that all commands have are in \fBscalebench\fR(1).
.SH EXAMPLES
.RS 2
.nf
scalebench measure \-
scalebench  measure x
.fi
.RE
.SH SEE ALSO
\fBscalebench\fR(1)
`
	if diff := cmp.Diff(want, testEdition.page(cmd)); diff != "" {
		t.Errorf("page(measure) (-want +got):\n%s", diff)
	}
}

// TestWriteAll looks at what is installed: each command that a user sees has a
// page with each of its flags, and bash, zsh and fish have their file.
func TestWriteAll(t *testing.T) {
	dir := t.TempDir()
	root := cli.Commands()
	if err := writeAll(dir, root, testEdition); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "man1", "*.1"))
	if err != nil || len(pages) < 30 {
		t.Fatalf("%d pages, %v; want one for each command", len(pages), err)
	}
	for _, cmd := range documented(root) {
		text := read(t, filepath.Join(dir, "man1", pageName(cmd)+".1"))
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(text, roff("--"+f.Name)+"\\fR") {
				t.Errorf("%s.1 does not say what --%s is", pageName(cmd), f.Name)
			}
		})
	}
	for _, file := range []string{"scalebench.bash", "_scalebench", "scalebench.fish"} {
		if !strings.Contains(read(t, filepath.Join(dir, file)), "__complete") {
			t.Errorf("%s does not ask scalebench for completions", file)
		}
	}
	lint(t, pages)
}

// lint asks mandoc, where it is installed.
func lint(t *testing.T, pages []string) {
	t.Helper()
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("mandoc is missing; scripts/deps.sh installs it")
		}
		t.Skip("mandoc is not installed; scripts/deps.sh installs it")
	}
	out, err := exec.CommandContext(t.Context(), mandoc, append([]string{"-Tlint", "-Wwarning"}, pages...)...).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("mandoc -Tlint: %v\n%s", err, out)
	}
}

// TestEnvironment holds the section ENVIRONMENT to the variables that commands
// read.
func TestEnvironment(t *testing.T) {
	sources, err := filepath.Glob("../../internal/cli/*.go")
	if err != nil || len(sources) == 0 {
		t.Fatalf("no sources of the commands: %v", err)
	}
	getenv := regexp.MustCompile(`Getenv\("([A-Z_]+)"\)`)
	var names []string
	for _, file := range sources {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range getenv.FindAllStringSubmatch(read(t, file), -1) {
			names = append(names, m[1])
		}
	}
	if !slices.Contains(names, "SCALEBENCH_DATA") {
		t.Fatalf("the commands read %q, not SCALEBENCH_DATA: this test looks in the wrong place", names)
	}
	for _, name := range names {
		if !strings.Contains(rootSections, "\n.B "+name+"\n") {
			t.Errorf("scalebench.roff does not explain %s", name)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
