package analysis

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var (
	contest = flag.Bool("bench-analysis", false, "compare the programs, as `make bench-analysis` does, and print the table")
	rounds  = flag.Int("rounds", 5, "how often each program is asked")
	rows    = flag.Int("rows", 10_000_000, "of the table")
	dir     = flag.String("dir", "", "where the tables are kept from one time to the next")
	python  = flag.String("python", "python3", "the Python that has pandas and polars")
	ask     = flag.String("ask", "", "only answer of this file, as JSON on standard output")
	makes   = flag.String("make", "", "only make this file")
	only    = flag.String("only", "", "only this kind of work: reading or report")
)

const seed = 20120101

// TestMain is one of the processes of the comparison, if it was started as one.
func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	switch {
	case *ask != "":
		var a answer
		if a, err = work(context.Background(), *ask); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(a)
		}
	case *makes != "":
		err = makeTable(*makes, *rows)
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// makeTable makes a file; what is there half is not taken for it.
func makeTable(path string, rows int) error {
	out, err := os.Create(path + ".part")
	if err != nil {
		return err
	}
	write := writeCSV
	if strings.HasSuffix(path, ".parquet") {
		write = writeParquet
	}
	if err := write(out, rows, seed); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.Rename(out.Name(), path)
}

// TestAnswers: what is read of a generated table, in both forms, is what was
// generated.
func TestAnswers(t *testing.T) {
	const rows = 30_000
	want := answer{Rows: rows, Groups: make(map[string]map[string][2]float64)}
	values := make(map[[2]string][]float64)
	if err := generate(rows, seed, func(m *measurement) error {
		for _, k := range [][2]string{{}, {"zone", m.Zone}, {"cpu_model", m.CPU}, {"type", m.Type}, {"node", m.Node}} {
			values[k] = append(values[k], m.Value)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for k, v := range values {
		mean, squares := 0., 0.
		for _, x := range v {
			mean += x / float64(len(v))
		}
		for _, x := range v {
			squares += (x - mean) * (x - mean) / float64(len(v)-1)
		}
		if k[0] == "" {
			want.Mean, want.SD = mean, math.Sqrt(squares)
			slices.Sort(v)
			for _, q := range asked {
				lo, part := math.Modf(q * (rows - 1))
				want.Quantiles = append(want.Quantiles, v[int(lo)]*(1-part)+v[int(lo)+1]*part)
			}
			continue
		}
		if want.Groups[k[0]] == nil {
			want.Groups[k[0]] = make(map[string][2]float64)
		}
		want.Groups[k[0]][k[1]] = [2]float64{mean, math.Sqrt(squares)}
	}
	for _, name := range []string{"m.csv", "m.parquet"} {
		path := filepath.Join(t.TempDir(), name)
		if err := makeTable(path, rows); err != nil {
			t.Fatal(err)
		}
		got, err := work(t.Context(), path)
		if diff := difference(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// difference is where two programs do not agree, beyond what the order of adding
// up changes.
func difference(a, b answer) string {
	return cmp.Diff(a, b, cmpopts.IgnoreFields(answer{}, "Seconds"), cmpopts.EquateApprox(1e-9, 0))
}

// contender is a program in the comparison. answer reads what it prints.
type contender struct {
	name    string
	command func(file string) []string
	answer  func(printed []byte) (any, float64, error)
}

// depth is one kind of work, with the programs that do it in the order of the
// table's columns.
type depth struct {
	name, title string
	all         []contender
	difference  func(a, b any) string
}

// depths are what the programs are asked.
func depths(t *testing.T) []depth {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	peer := func(library, depth string) func(string) []string {
		return func(file string) []string { return []string{*python, "work.py", library, depth, file} }
	}
	brief := func(printed []byte) (any, float64, error) {
		var a answer
		err := json.Unmarshal(printed, &a)
		return a, a.Seconds, err
	}
	full := func(printed []byte) (any, float64, error) {
		var r report
		err := json.Unmarshal(printed, &r)
		return r, r.Seconds, err
	}
	ours := func(printed []byte) (any, float64, error) {
		r, err := parseReport(printed)
		return r, 0, err
	}
	return []depth{
		{"reading", "Reading, mean, standard deviation, quantiles, groups", []contender{
			{"scalebench", func(file string) []string { return []string{self, "-ask", file} }, brief},
			{"pandas", peer("pandas", "brief"), brief},
			{"polars", peer("polars", "brief"), brief},
		}, func(a, b any) string { return difference(a.(answer), b.(answer)) }},
		{"report", "The full report", []contender{
			{"scalebench variability", func(file string) []string { return []string{"scalebench", "variability", file, "--format", "json"} }, ours},
			{"pandas and SciPy", peer("pandas", "full"), full},
			{"polars and SciPy", peer("polars", "full"), full},
		}, func(a, b any) string {
			x, y := a.(report), b.(report)
			return cmp.Diff(x.keepGroups(y), y.keepGroups(x), cmpopts.IgnoreFields(report{}, "Seconds"), cmpopts.EquateApprox(1e-9, 1e-15))
		}},
	}
}

// cost is what a process took.
type cost struct {
	wall, work, cpu float64 // seconds; work without the start of the program
	memory          float64 // at its peak, in bytes
}

// run asks a program.
func (c contender) run(t *testing.T, file string) (cost, any) {
	t.Helper()
	words := c.command(file)
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	x := cost{wall: time.Since(begin).Seconds(), cpu: (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()}
	x.memory = float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) * 1024
	a, seconds, err := c.answer(out.Bytes())
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	if x.work = seconds; seconds == 0 {
		x.work = x.wall
	}
	return x, a
}

// TestContest prints the table; `make bench-analysis` runs it.
func TestContest(t *testing.T) {
	if !*contest {
		t.Skip("takes minutes and a quiet machine; `make bench-analysis` runs it")
	}
	for _, d := range depths(t) {
		if *only != "" && *only != d.name {
			continue
		}
		fmt.Print(d.header())
		for _, form := range []string{"csv", "parquet"} {
			fmt.Print(lines(form, d.contest(t, form, table(t, form))))
		}
	}
}

// table is a file with the table in this form, made where it is not there yet: in a
// process of its own, for a child inherits the peak of its parent.
func table(t *testing.T, form string) string {
	t.Helper()
	file := filepath.Join(*dir, fmt.Sprintf("measurements-%d.%s", *rows, form))
	if _, err := os.Stat(file); err == nil {
		return file
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-make", file, "-rows", fmt.Sprint(*rows))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("making %s: %v\n%s", file, err, out)
	}
	return file
}

// contest is what the programs took, each in each round. All must say the same.
func (d depth) contest(t *testing.T, form, file string) [][]cost {
	t.Helper()
	costs := make([][]cost, len(d.all))
	for round := range *rounds {
		var first any
		for k := range d.all {
			i := (k + round) % len(d.all) // so that no program always follows the same other one
			x, a := d.all[i].run(t, file)
			costs[i] = append(costs[i], x)
			fmt.Fprintf(os.Stderr, "%s, round %d, %s: %.2f s, of which work %.2f s; %.2f s of processor time, %.0f MB\n", form, round+1, d.all[i].name, x.wall, x.work, x.cpu, x.memory/1e6)
			if first == nil {
				first = a
			} else if diff := d.difference(first, a); diff != "" {
				t.Fatalf("%s says something else:\n%s", d.all[i].name, diff)
			}
		}
	}
	return costs
}

// header is the head of the table.
func (d depth) header() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s: %s rows, %d cores; medians of %d rounds. In parentheses: how much more than scalebench.\n\n| | |", d.title, grouped(*rows), runtime.NumCPU(), *rounds)
	for _, c := range d.all {
		fmt.Fprintf(&b, " %s |", c.name)
	}
	return b.String() + "\n|---|---|" + strings.Repeat("---:|", len(d.all)) + "\n"
}

func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// lines are those of a form of table.
func lines(form string, costs [][]cost) string {
	var b strings.Builder
	for _, row := range []struct {
		name, unit string
		of         func(c cost) float64
		digits     int
	}{
		{"work", "s", func(c cost) float64 { return c.work }, 2},
		{"whole process", "s", func(c cost) float64 { return c.wall }, 2},
		{"processor time", "s", func(c cost) float64 { return c.cpu }, 2},
		{"peak memory", "MB", func(c cost) float64 { return c.memory / 1e6 }, 0},
	} {
		fmt.Fprintf(&b, "| %s | %s, %s |", form, row.name, row.unit)
		first := median(costs[0], row.of)
		for i := range costs {
			v := median(costs[i], row.of)
			if fmt.Fprintf(&b, " %.*f", row.digits, v); i > 0 {
				fmt.Fprintf(&b, " (%.1f ×)", v/first)
			}
			b.WriteString(" |")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func median(all []cost, of func(cost) float64) float64 {
	var v []float64
	for _, c := range all {
		v = append(v, of(c))
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
