package studies

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/cli"
	"github.com/scalebench/scalebench/internal/doc/num"
)

// measured matches "| `explain` | 3,320 |" and, of a study, "| `cdi` | 1,369 | 1 |":
// lines without tests, and files outside that name it.
var measured = regexp.MustCompile("(?m)^\\| `([a-z/.]+)` \\| ([0-9,]+) \\|(?: ([0-9]+) \\|)?")

// apart is by what share lines of the page may differ from those of the code, so
// that not every commit changes the page.
const apart = 0.1

// TestMeasure holds the sizes that the page tells against the code.
func TestMeasure(t *testing.T) {
	root := moduleRoot(t)
	file := filepath.Join(root, page)
	text := readFile(t, file)
	begin, end := strings.Index(text, "\n## What a study takes\n"), strings.Index(text, "\n## Reference\n")
	if begin < 0 || end < begin {
		t.Fatalf("%s has no section that says what a study takes", page)
	}
	said := make(map[string]bool)
	section := measured.ReplaceAllStringFunc(text[begin:end], func(row string) string {
		m := measured.FindStringSubmatch(row)
		said[m[1]] = true
		return measure(t, root, row, m[1], m[2], m[3])
	})
	for _, kind := range cli.Studies() {
		if !said[kind.Name] {
			t.Errorf("%s does not say what the study %s takes", page, kind.Name)
		}
	}
	if *update {
		writeFile(t, file, text[:begin]+section+text[end:])
	}
}

// measure is a row with the numbers of the code, and complains of others.
func measure(t *testing.T, root, row, path, lines, files string) string {
	t.Helper()
	if files != "" {
		path = "study/" + path
		if got := len(naming(t, root, path)); strconv.Itoa(got) != files {
			complain(t, "%s names %s files outside of %s that name it, there are %v", page, files, path, naming(t, root, path))
			row = strings.TrimSuffix(row, " "+files+" |") + fmt.Sprintf(" %d |", got)
		}
	}
	got := linesOf(t, filepath.Join(root, "internal", filepath.FromSlash(path)))
	want, err := strconv.Atoi(strings.ReplaceAll(lines, ",", ""))
	if err != nil || math.Abs(float64(got-want)) > apart*float64(got) {
		complain(t, "%s says %s lines of %s, there are %d; `go test ./test/studies -run Measure -update` rewrites it", page, lines, path, got)
	}
	if *update {
		row = strings.Replace(row, "| "+lines+" |", "| "+num.Grouped(int64(got))+" |", 1)
	}
	return row
}

// complain is an error, unless the page is rewritten.
func complain(t *testing.T, format string, args ...any) {
	t.Helper()
	if !*update {
		t.Errorf(format, args...)
	}
}

// linesOf counts the lines of a Go file, or of those of a package, without tests.
func linesOf(t *testing.T, path string) int {
	t.Helper()
	files := []string{path}
	if filepath.Ext(path) != ".go" {
		var err error
		if files, err = filepath.Glob(filepath.Join(path, "*.go")); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for _, name := range files {
		if !strings.HasSuffix(name, "_test.go") {
			n += strings.Count(readFile(t, name), "\n")
		}
	}
	return n
}

// naming are the files of the program outside of a package that import it.
func naming(t *testing.T, root, path string) []string {
	t.Helper()
	var out []string
	for _, top := range []string{"internal", "cmd"} {
		err := fs.WalkDir(os.DirFS(root), top, func(name string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "internal/"+path+"/") {
				return err
			}
			if strings.Contains(readFile(t, filepath.Join(root, filepath.FromSlash(name))), `/internal/`+path+`"`) {
				out = append(out, name)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}
