package main

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// edition is what the head and the foot of every page say.
type edition struct {
	version string
	date    time.Time
}

// rootSections is what scalebench(1) has beside the commands: exit status,
// environment, files.
//
//go:embed scalebench.roff
var rootSections string

// page is the man page of a command, in the macros of man(7), which groff and
// mandoc know.
func (of edition) page(cmd *cobra.Command) string {
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	var b strings.Builder
	// Flush left and without hyphens: flags and addresses stay in one piece.
	fmt.Fprintf(&b, ".TH %s 1 %s \"scalebench %s\" \"scalebench manual\"\n.nh\n.ad l\n",
		strings.ToUpper(pageName(cmd)), of.date.Format(time.DateOnly), of.version)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(pageName(cmd)), roff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n%s\n", synopsis(cmd))
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s", paragraphs(description(cmd)))
	if !cmd.HasParent() {
		writeCommands(&b, cmd)
	}
	writeOptions(&b, cmd)
	if cmd.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n%s", verbatim(cmd.Example))
	}
	if !cmd.HasParent() {
		b.WriteString(rootSections)
	}
	writeSeeAlso(&b, cmd)
	return b.String()
}

// synopsis sets what is typed as it is in bold.
func synopsis(cmd *cobra.Command) string {
	path := cmd.CommandPath()
	rest := strings.TrimSpace(strings.TrimPrefix(cmd.UseLine(), path))
	if cmd.HasAvailableSubCommands() {
		rest = strings.TrimSpace("[command] " + rest)
	}
	return "\\fB" + roff(path) + "\\fR " + roff(rest)
}

// description is the long help; the exit codes in that of the root have a
// section of their own.
func description(cmd *cobra.Command) string {
	if cmd.Long == "" {
		return strings.ToUpper(cmd.Short[:1]) + cmd.Short[1:] + "."
	}
	text, _, _ := strings.Cut(cmd.Long, "\n\nExit codes:")
	return text
}

func writeCommands(b *strings.Builder, root *cobra.Command) {
	b.WriteString(".SH COMMANDS\n")
	groups := append(slices.Clone(root.Groups()), &cobra.Group{Title: "Other:"})
	for _, group := range groups {
		fmt.Fprintf(b, ".SS %s\n", roff(strings.TrimSuffix(group.Title, ":")))
		for _, c := range documented(root)[1:] {
			if c.Parent() == root && c.GroupID == group.ID {
				fmt.Fprintf(b, ".TP\n%s\n%s\n", reference(c), roff(c.Short))
			}
		}
	}
}

func writeOptions(b *strings.Builder, cmd *cobra.Command) {
	b.WriteString(".SH OPTIONS\n")
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Deprecated == "" {
			b.WriteString(option(f))
		}
	})
	if cmd.HasParent() {
		fmt.Fprintf(b, ".PP\nThe options that all commands have are in %s.\n", reference(cmd.Root()))
	}
}

// zeroValues are defaults that go without saying, as in --help.
var zeroValues = []string{"", "false", "0", "0s", "[]"}

func option(f *pflag.Flag) string {
	value, usage := pflag.UnquoteUsage(f)
	head := "\\fB" + roff("--"+f.Name) + "\\fR"
	if f.Shorthand != "" {
		head = "\\fB" + roff("-"+f.Shorthand) + "\\fR, " + head
	}
	if value != "" {
		head += " \\fI" + roff(value) + "\\fR"
	}
	if !slices.Contains(zeroValues, f.DefValue) {
		usage += " (default " + f.DefValue + ")"
	}
	return ".TP\n" + head + "\n" + roff(usage) + "\n"
}

func writeSeeAlso(b *strings.Builder, cmd *cobra.Command) {
	var pages []string
	if cmd.HasParent() {
		pages = append(pages, reference(cmd.Parent()))
	}
	for _, c := range documented(cmd)[1:] {
		if c.Parent() == cmd {
			pages = append(pages, reference(c))
		}
	}
	fmt.Fprintf(b, ".SH SEE ALSO\n%s\n", strings.Join(pages, ",\n"))
}

func reference(cmd *cobra.Command) string { return "\\fB" + roff(pageName(cmd)) + "\\fR(1)" }

// paragraphs sets a text as help has it: paragraphs with empty lines between
// them. Those with indented lines are tables, or what a user types, and stay.
func paragraphs(text string) string {
	var b strings.Builder
	for i, p := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		if strings.Contains("\n"+p, "\n ") || strings.Contains("\n"+p, "\n\t") {
			b.WriteString(verbatim(p))
		} else {
			b.WriteString(roff(p) + "\n")
		}
	}
	return b.String()
}

// verbatim keeps lines as they are, less the indent that all share.
func verbatim(text string) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	indent := 99
	for _, l := range lines {
		if l != "" {
			indent = min(indent, len(l)-len(strings.TrimLeft(l, " ")))
		}
	}
	for i, l := range lines {
		lines[i] = l[min(indent, len(l)):]
	}
	return ".RS 2\n.nf\n" + roff(strings.Join(lines, "\n")) + "\n.fi\n.RE\n"
}

// special is what roff would take for something else: hyphens, quotes, tildes
// and carets of a program are not those of a text.
var special = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, "\t", "    ")

var (
	quoted   = regexp.MustCompile("`[^`\n]+`")
	lineDot  = regexp.MustCompile(`(?m)^\.`)
	notASCII = regexp.MustCompile(`[^\x00-\x7F]`)
)

// roff is a text as roff prints it. What stands in backquotes is bold.
func roff(text string) string {
	var b strings.Builder
	end := 0
	for _, at := range quoted.FindAllStringIndex(text, -1) {
		b.WriteString(special.Replace(text[end:at[0]]))
		b.WriteString("\\fB" + special.Replace(strings.Trim(text[at[0]:at[1]], "`")) + "\\fR")
		end = at[1]
	}
	b.WriteString(special.Replace(text[end:]))
	out := lineDot.ReplaceAllString(b.String(), `\&.`)
	return notASCII.ReplaceAllStringFunc(out, func(c string) string { return fmt.Sprintf(`\[u%04X]`, []rune(c)[0]) })
}
