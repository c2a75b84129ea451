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

// contender is a program in the comparison.
type contender struct {
	name    string
	command func(file string) []string
	// answers reports whether it prints an answer: a report does not.
	answers bool
}

// contenders are in the order of the table's columns.
func contenders(t *testing.T) []contender {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	all := []contender{
		{"scalebench", func(file string) []string { return []string{self, "-ask", file} }, true},
		{"pandas", func(file string) []string { return []string{*python, "work.py", "pandas", file} }, true},
		{"polars", func(file string) []string { return []string{*python, "work.py", "polars", file} }, true},
	}
	if help, err := exec.CommandContext(t.Context(), "scalebench", "--help").Output(); err == nil && strings.Contains(string(help), " variability ") {
		all = append(all, contender{"scalebench variability", func(file string) []string { return []string{"scalebench", "variability", file, "--format", "json"} }, false})
	}
	return all
}

// cost is what a process took.
type cost struct {
	wall, work, cpu float64 // seconds; work without the start of the program
	memory          float64 // at its peak, in bytes
}

// run asks a program.
func (c contender) run(t *testing.T, file string) (cost, answer) {
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
	var a answer
	if x.work = x.wall; c.answers {
		if err := json.Unmarshal(out.Bytes(), &a); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		x.work = a.Seconds
	}
	return x, a
}

// TestContest prints the table; `make bench-analysis` runs it.
func TestContest(t *testing.T) {
	if !*contest {
		t.Skip("takes minutes and a quiet machine; `make bench-analysis` runs it")
	}
	all := contenders(t)
	fmt.Print(header(all))
	for _, form := range []string{"csv", "parquet"} {
		file := filepath.Join(*dir, fmt.Sprintf("measurements-%d.%s", *rows, form))
		if _, err := os.Stat(file); err != nil { // in a process of its own: a child inherits the peak of its parent
			cmd := exec.CommandContext(t.Context(), all[0].command("")[0], "-make", file, "-rows", fmt.Sprint(*rows))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("making %s: %v\n%s", file, err, out)
			}
		}
		costs := make([][]cost, len(all))
		for round := range *rounds {
			var first answer
			for k := range all {
				i := (k + round) % len(all) // so that no program always follows the same other one
				x, a := all[i].run(t, file)
				costs[i] = append(costs[i], x)
				fmt.Fprintf(os.Stderr, "%s, round %d, %s: %.2f s, of which work %.2f s; %.2f s of processor time, %.0f MB\n", form, round+1, all[i].name, x.wall, x.work, x.cpu, x.memory/1e6)
				if first.Rows == 0 {
					first = a
				} else if diff := difference(first, a); all[i].answers && diff != "" {
					t.Fatalf("%s says something else:\n%s", all[i].name, diff)
				}
			}
		}
		fmt.Print(lines(form, costs))
	}
}

// header is the head of the table.
func header(all []contender) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s rows, %d cores; medians of %d rounds. In parentheses: how much more than scalebench.\n\n| | |", grouped(*rows), runtime.NumCPU(), *rounds)
	for _, c := range all {
		fmt.Fprintf(&b, " %s |", c.name)
	}
	return b.String() + "\n|---|---|" + strings.Repeat("---:|", len(all)) + "\n"
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
