package walk

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/doc/term"
	"github.com/scalebench/scalebench/internal/levels"
)

// TestBlocks holds every block to its language: files are valid, commands name
// what there is.
func TestBlocks(t *testing.T) {
	t.Parallel()
	known := newTyped(t)
	for _, page := range pages(t) {
		for _, b := range read(t, page).Blocks {
			if wrong := checkBlock(t, known, page, b); wrong != "" {
				t.Errorf("%s:%d: %s", page, b.Line, wrong)
			}
		}
	}
}

// checkBlock returns what is wrong with a block, or "".
func checkBlock(t *testing.T, known *typed, page string, b Block) string {
	t.Helper()
	switch b.Language {
	case "sh", "console":
		for _, reason := range b.Marked("not run") {
			if len(strings.Fields(reason)) < 3 {
				return "say why it is not run, in more words than " + reason
			}
		}
		if page == elsewhere {
			return "" // with a program of its own
		}
		for _, c := range b.Commands() {
			if wrong := known.check(c.Text); wrong != "" {
				return "`" + c.Text + "`: " + wrong
			}
			for line := range strings.Lines(c.Want) {
				if term.Width(line) > plainWidth+1 { // and its end
					return "a shown line is wider than what is printed without a terminal: " + line
				}
			}
		}
	case "json":
		if !json.Valid([]byte(b.Text)) {
			return "this is no JSON"
		}
		if strings.Contains(b.Text, `"jobs"`) {
			return accepts(t, b, "page.json", "validate")
		}
	case "yaml":
		if strings.HasPrefix(b.Text, "model: ") {
			if _, err := levels.Parse("page.yaml", []byte(b.Text)); err != nil {
				return err.Error()
			}
			return ""
		}
		if page != elsewhere {
			return accepts(t, b, "page.yaml", "validate")
		}
	case "csv":
		if page != elsewhere {
			return accepts(t, b, "page.csv", "cdi", "--csv")
		}
	case "go", "diff", "text":
	default:
		return "give the block a fence with one of the languages sh, console, yaml, json, csv, go, diff and text (got " + b.Language + ")"
	}
	return ""
}

// accepts gives the text of a block to a command, as a file.
func accepts(t *testing.T, b Block, name string, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	text := b.Text + strings.Join(b.Marked("with"), "\n") + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "scalebench", append(args, path)...).CombinedOutput(); err != nil {
		return err.Error() + ": " + string(out)
	}
	return ""
}

var (
	span = regexp.MustCompile("`([^`]+)`")
	link = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

// foreign are flags of other programs that pages name without these: curl,
// docker, sysbench.
var foreign = []string{"--data-binary", "--network", "--threads", "--time", "--cpu-max-prime", "--memory-block-size", "--memory-oper", "--memory-access-mode"}

// TestInline looks for the commands and flags that sentences name.
func TestInline(t *testing.T) {
	t.Parallel()
	known := newTyped(t)
	for _, page := range pages(t) {
		for paragraph := range strings.SplitSeq(read(t, page).Prose, "\n\n") {
			for _, m := range span.FindAllStringSubmatch(paragraph, -1) {
				text := strings.ReplaceAll(m[1], "\n", " ")
				wrong := ""
				if flag := flagWord.FindString(text); strings.HasPrefix(flag, "--") && !slices.Contains(foreign, flag) && !known.anyFlag(flag) {
					wrong = "no command has this flag"
				} else if page != elsewhere {
					wrong = known.check(text)
				}
				if wrong != "" {
					t.Errorf("%s: `%s`: %s", page, text, wrong)
				}
			}
		}
	}
}

// TestLinks follows every link to a file of the repository, and to a part of a
// page.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, page := range append(pages(t), "CHANGELOG.md", "DEPENDENCIES.md") {
		for _, m := range link.FindAllStringSubmatch(span.ReplaceAllString(read(t, page).Prose, "``"), -1) {
			if wrong := follow(t, page, m[1]); wrong != "" {
				t.Errorf("%s: %s: %s", page, m[1], wrong)
			}
		}
	}
}

// follow returns what is wrong with a link of a page, or "".
func follow(t *testing.T, page, to string) string {
	t.Helper()
	if strings.Contains(to, "://") {
		return ""
	}
	name, part, _ := strings.Cut(to, "#")
	target := page
	if name != "" {
		target = filepath.Join(filepath.Dir(page), name)
	}
	if _, err := os.Stat(filepath.Join(root, target)); err != nil {
		return err.Error()
	}
	if part != "" && !slices.Contains(anchors(read(t, target).Prose), part) {
		return "the page has no such heading"
	}
	return ""
}

var (
	heading  = regexp.MustCompile(`(?m)^#+ (.+)$`)
	noAnchor = regexp.MustCompile(`[^\pL\pN _-]`)
)

// anchors are the names of a page's headings in links, as GitHub makes them.
func anchors(prose string) []string {
	var names []string
	for _, m := range heading.FindAllStringSubmatch(prose, -1) {
		name := noAnchor.ReplaceAllString(strings.ToLower(m[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}
