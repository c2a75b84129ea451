// Package studies executes docs/studies.md: the study that it adds is built into
// the program, its commands are run, and what they print is what the page says.
package studies

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/cli"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/test/skip"
	"github.com/scalebench/scalebench/test/walk"
)

const (
	page  = "docs/studies.md"
	first = "internal/study/mean/mean.go" // the complete study
	most  = 185                           // lines that all its files together have fewer of
)

var update = flag.Bool("update", false, "rewrite the reference of docs/studies.md")

// TestPage adds the study of the page to the program and runs the commands of
// the page, in their order. Nothing is written into the repository: the
// compiler sees the new files as an overlay.
func TestPage(t *testing.T) {
	skip.IfShort(t)
	if runtime.GOOS != "linux" {
		t.Skip("local fleets need Linux")
	}
	p := &program{root: moduleRoot(t), dir: t.TempDir(), overlay: make(map[string]string)}
	ran, lines := 0, 0
	for _, b := range walk.Read(readFile(t, filepath.Join(p.root, page))).Blocks {
		switch {
		case b.Language == "console":
			p.build(t)
			for _, c := range b.Commands() {
				ran++
				p.run(t, c)
			}
		case b.Path == "":
			t.Errorf("%s:%d: a block without the path of its file above it", page, b.Line)
		case b.Language == "go":
			lines += strings.Count(b.Text, "\n")
			p.lay(t, b.Path, b.Text)
		case b.Language == "diff":
			p.patch(t, b)
		default:
			writeFile(t, filepath.Join(p.dir, b.Path), b.Text)
		}
	}
	if lines >= most {
		t.Errorf("the study has %d lines, want fewer than %d", lines, most)
	}
	if ran < 15 || p.overlay[filepath.Join(p.root, first)] == "" {
		t.Errorf("%d commands were run with the files %v, want those of the page", ran, p.overlay)
	}
}

// program is scalebench with the files of the page laid over it.
type program struct {
	root    string            // of the module
	dir     string            // where commands run
	overlay map[string]string // files in the module, and what stands for each
	built   int               // files in the binary
	wired   int               // lines of other files that the page adds
}

// lay puts a file into the program.
func (p *program) lay(t *testing.T, path, text string) {
	t.Helper()
	full := filepath.Join(p.root, filepath.FromSlash(path))
	if p.overlay[full] == "" {
		p.overlay[full] = filepath.Join(p.dir, fmt.Sprintf("overlay-%d.go", len(p.overlay)))
	}
	writeFile(t, p.overlay[full], text)
}

// patch adds the lines of a diff, which only adds, to a file of the module.
func (p *program) patch(t *testing.T, b walk.Block) {
	t.Helper()
	full := filepath.Join(p.root, filepath.FromSlash(b.Path))
	if laid := p.overlay[full]; laid != "" {
		full = laid
	}
	var before, after strings.Builder
	for line := range strings.Lines(b.Text) {
		after.WriteString(line[1:])
		switch line[0] {
		case ' ':
			before.WriteString(line[1:])
		case '+':
			if !strings.Contains(b.Path+line, "internal/study/mean") { // a file of the study, or its import
				p.wired++
			}
		default:
			t.Errorf("%s:%d: the page changes %q: a study only adds", page, b.Line, line)
		}
	}
	text := readFile(t, full)
	if strings.Count(text, before.String()) != 1 {
		t.Fatalf("%s:%d: %s does not have these lines once:\n%s", page, b.Line, b.Path, before.String())
	}
	p.lay(t, b.Path, strings.Replace(text, before.String(), after.String(), 1))
	if p.wired > 1 {
		t.Errorf("%s:%d: %d lines of wiring, want one", page, b.Line, p.wired)
	}
}

// build compiles the program, unless it has all files already.
func (p *program) build(t *testing.T) {
	t.Helper()
	if p.built == len(p.overlay) {
		return
	}
	p.built = len(p.overlay)
	replace, err := json.Marshal(map[string]any{"Replace": p.overlay})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(p.dir, "overlay.json"), string(replace))
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-ldflags=-s -w", "-overlay", filepath.Join(p.dir, "overlay.json"),
		"-o", filepath.Join(p.dir, "bin", "scalebench"), "./cmd/scalebench")
	cmd.Dir = p.root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the code of %s does not compile: %v\n%s", page, err, out)
	}
}

// run executes one command and compares what it prints.
func (p *program) run(t *testing.T, c walk.Command) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", c.Text)
	cmd.Dir = p.dir
	cmd.Env = []string{"PATH=" + filepath.Join(p.dir, "bin") + ":" + os.Getenv("PATH"), "HOME=" + p.dir, "SCALEBENCH_DATA=" + filepath.Join(p.dir, "data"), "LANG=C.UTF-8"}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends its agents
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if !walk.Pattern(c.Want).Match(out) {
		t.Errorf("%s:%d: $ %s\nprints (%v)\n%s\nthe page says\n%s", page, c.Line, c.Text, err, out, c.Want)
	}
}

// TestReference compares the reference of the page with the parameters of the
// studies.
func TestReference(t *testing.T) {
	file := filepath.Join(moduleRoot(t), page)
	text := readFile(t, file)
	const begin = "with the flags of its command.\n"
	before, got, ok := strings.Cut(text, begin)
	if !ok {
		t.Fatalf("%s has no reference: no line ends %q", page, begin)
	}
	want := ""
	for _, kind := range cli.Studies() {
		want += reference(t, kind)
	}
	if *update {
		writeFile(t, file, before+begin+want)
	} else if got != want {
		t.Errorf("the reference of %s is another than that of the code; `go test ./test/studies -run Reference -update` rewrites it. Want:\n%s", page, want)
	}
}

// reference is the part of one study.
func reference(t *testing.T, kind study.Kind) string {
	t.Helper()
	params := study.Parameters(kind.New())
	encoded, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	var defaults map[string]any
	if err := json.Unmarshal(encoded, &defaults); err != nil {
		t.Fatal(err)
	}
	rows := ""
	for _, f := range reflect.VisibleFields(reflect.TypeOf(params).Elem()) {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if key == "" || key == "-" || !f.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("flag"), ",")
		if name != "" {
			name = "`--" + name + "`"
		}
		preset := ""
		if v := defaults[key]; v != nil && !reflect.ValueOf(v).IsZero() {
			preset = fmt.Sprint(v)
		}
		description := f.Tag.Get("jsonschema_description")
		if description == "" {
			t.Errorf("the key %s of %s has no description", key, kind.Name)
		}
		rows += fmt.Sprintf("| `%s` | %s | %s | %s |\n", key, name, preset, description)
	}
	if rows == "" {
		rows = "It has no keys.\n"
	} else {
		rows = "| key | flag | default | meaning |\n|---|---|---|---|\n" + rows
	}
	command := kind.Command
	if command == "" {
		command = kind.Name
	}
	return fmt.Sprintf("\n### %s\n\n`scalebench %s`: %s.\n\n%s", kind.Name, command, kind.Summary, rows)
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")))
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
