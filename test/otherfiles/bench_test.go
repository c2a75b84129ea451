package otherfiles

import (
	"encoding/csv"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/frame/files"
	"github.com/scalebench/scalebench/internal/stats"
)

// measured is a benchmark in a unit, as benchstat names them.
type measured struct{ name, unit string }

// TestGoBenchmarksOfOthers holds every file of results in golang.org/x/perf to what
// benchstat says of it.
func TestGoBenchmarksOfOthers(t *testing.T) {
	module, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/perf").Output()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, pattern := range []string{"cmd/benchstat/testdata/*.txt", "benchproc/testdata/*.bench",
		"benchfmt/testdata/bent/*.stdout"} {
		some, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(module)), pattern))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, some...)
	}
	if len(found) < 12 {
		t.Fatalf("golang.org/x/perf has only %d files of results: %q", len(found), found)
	}
	benchstat := filepath.Join(t.TempDir(), "benchstat")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", benchstat,
		"golang.org/x/perf/cmd/benchstat").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	medians := 0
	for _, file := range found {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) == 0 {
			continue
		}
		first := exact(text)
		t.Run(filepath.Base(file), func(t *testing.T) {
			want, got := ofBenchstat(t, benchstat, file), ours(t, file)
			medians += len(want)
			for m, x := range want {
				if y, ok := got[m]; !ok || !first[m.unit] && math.Abs(x-y) > 1e-12*math.Abs(x) {
					t.Errorf("%s in %s: median %v, benchstat has %v", m.name, m.unit, y, x)
				}
			}
			if len(got) != len(want) {
				t.Errorf("%d medians, benchstat has %d", len(got), len(want))
			}
		})
	}
	t.Logf("%d medians of %d files", medians, len(found))
}

// ofBenchstat is the median of each benchmark and unit, of packages apart.
func ofBenchstat(t *testing.T, benchstat, file string) map[measured]float64 {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), benchstat, "-format", "csv", "-table", "pkg", "-row", ".fullname",
		file).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := csv.NewReader(strings.NewReader(string(out)))
	lines.FieldsPerRecord = -1
	rows, err := lines.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	medians := make(map[measured]float64)
	pkg, unit := "", ""
	for _, row := range rows {
		switch {
		case len(row) == 1:
			pkg = strings.TrimPrefix(row[0], "pkg: ")
		case row[0] == "" && row[len(row)-1] == "CI":
			unit = row[1]
		case row[0] != "" && row[0] != "geomean":
			name := row[0]
			if pkg != "" {
				name = pkg + "." + name
			}
			if medians[measured{name, unit}], err = strconv.ParseFloat(row[1], 64); err != nil {
				t.Fatal(err)
			}
		}
	}
	return medians
}

// ours are the medians of the frames, in benchstat's units.
func ours(t *testing.T, file string) map[measured]float64 {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	frames, _, err := files.Read(t.Context(), file, in, frame.Choice{}, files.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	medians := make(map[measured]float64)
	for _, f := range frames {
		median, err := stats.Quantile(f.Values, .5)
		if err != nil {
			t.Fatal(err)
		}
		scale, unit := tidy(f.Unit)
		medians[measured{f.Workload, unit}] = scale * median
	}
	return medians
}

// tidy is a unit as benchstat shows it, and by what values in it are multiplied.
func tidy(unit string) (float64, string) {
	switch first, rest, _ := strings.Cut(unit, "/"); first {
	case "ns":
		return 1e-9, "sec/" + rest
	case "MB":
		return 1e6, "B/" + rest
	}
	return 1, unit
}

// exact are the units of a file whose values benchstat is told to take as exact: it shows
// the first, and no median.
func exact(text []byte) map[string]bool {
	of := make(map[string]bool)
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 2 && words[0] == "Unit" &&
			slices.Contains(words[2:], "assume=exact") {
			of[words[1]] = true
		}
	}
	return of
}
