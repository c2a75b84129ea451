package evaluation

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/caveat"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

// TestTableTaken: a value that is there already is named by its line, in trials
// of few nodes as of many, in any order.
func TestTableTaken(t *testing.T) {
	table := &Table{Workload: "w", Metric: "m", Better: model.Higher}
	line := 1
	add := func(node string, phase model.Phase, trial int) int {
		line++
		return table.Add(node, phase, trial, float64(line), line)
	}
	for i := range 1000 {
		if taken := add(fmt.Sprint("n", i), model.Serial, 1); taken != 0 {
			t.Fatalf("node %d: taken in line %d, want not", i, taken)
		}
	}
	// Trial 2 has one node of the thousand: the last.
	if first, again := add("n999", model.Serial, 2), add("n999", model.Serial, 2); first != 0 || again != 1002 {
		t.Errorf("n999 in trial 2: taken in %d, then in %d, want 0, 1002", first, again)
	}
	if got := add("n0", model.Serial, 1); got != 2 {
		t.Errorf("n0 in trial 1: taken in line %d, want 2", got)
	}
	if got := add("n0", model.Parallel, 1); got != 0 {
		t.Errorf("n0, parallel: taken in line %d, want not", got)
	}
	f := table.Finding(quick)
	if f.Nodes != 1 || f.Pairs[0].Node != "n0" || f.Pairs[0].Serial != 2 {
		t.Errorf("pairs %+v, want n0 with 2", f.Pairs)
	}
	wantWarning(t, f, "nodes n1, n10, n100, n101, n102 and 994 more: serial value only; left out")
}

// unequalTable are two trials in which nothing is lost between the phases but
// a fifth: in trial 1 nodes have about 100 alone, in trial 2 about 200.
const unequalTable = `node,serial,parallel,trial
a,100,80,1
a,200,160,2
b,101,81,1
b,203,163,2
c,99,80,1
c,201,160,2
d,99,81,1
d,201,161,2
e,99.5,80,1
e,201,162,2
f,99,79,1
f,200,159,2
`

// without empties cells of unequalTable: each "a,200,160,2>a,200,,2".
func without(t *testing.T, changes ...string) string {
	t.Helper()
	table := unequalTable
	for _, change := range changes {
		from, to, _ := strings.Cut(change, ">")
		if !strings.Contains(table, from+"\n") {
			t.Fatalf("no line %q", from)
		}
		table = strings.Replace(table, from+"\n", to, 1)
	}
	return table
}

// TestTableTrials: only trials that are complete in both phases count, of
// tables as of runs.
func TestTableTrials(t *testing.T) {
	const left = "left out, because not complete in both phases: "
	first := 100 * (1 - (80+81+80+81+80+79)/(100+101+99+99+99.5+99))
	second := 100 * (1 - (160.+163+160+161+162+159)/(200+203+201+201+201+200))
	both := 100 * (1 - (481.+965)/(597.5+1206))
	var noParallel, noSerial []string
	for line := range strings.Lines(unequalTable) {
		cells := strings.Split(strings.TrimSpace(line), ",")
		if cells[3] == "2" {
			noParallel = append(noParallel, strings.TrimSpace(line)+">"+cells[0]+","+cells[1]+",,2\n")
			noSerial = append(noSerial, strings.TrimSpace(line)+">"+cells[0]+",,"+cells[2]+",2\n")
		}
	}
	for _, c := range []struct {
		name    string
		table   string
		cdi     float64
		nodes   int
		verdict Verdict
		text    string
	}{
		{"complete", unequalTable, both, 6, Degraded, ""},
		{"no parallel values", without(t, noParallel...), first, 6, Degraded, left + "trial 2 (no parallel value)"},
		{"no serial values", without(t, noSerial...), first, 6, Degraded, left + "trial 2 (no serial value)"},
		{"one serial value missing", without(t, "c,201,160,2>c,,160,2\n"), first, 6, Degraded, left + "trial 2 (no serial value of node c)"},
		{"two missing, in trial 1", without(t, "e,99.5,80,1>e,,80,1\n", "b,101,81,1>b,,81,1\n"), second, 6, Degraded, left + "trial 1 (no serial value of nodes b, e)"},
		{"another trial, serial only", unequalTable + "a,900,,3\n", both, 6, Degraded, left + "trial 3 (no parallel value)"},
		{"none complete", without(t, "c,201,160,2>c,,160,2\n", "a,100,80,1>a,,80,1\n"), 100 * (1 - (481.+965)/2/(200+152+99+150+150.25+149.5)), 6, Unknown,
			"verdict unknown: no trial is complete in both phases: trial 1 (no serial value of node a), trial 2 (no serial value of node c); the numbers cover only what there is"},
		{"a node less in trial 2", without(t, "f,200,159,2>"), 100 * (1 - (120+122+120+121+121+79)/(150+152+150+150+150.25+99)), 6, Unknown,
			"verdict unknown: the parallel trials ran on different nodes (a, b, c, d, e and 1 more and a, b, c, d, e)"},
		{"one parallel value missing", without(t, "b,203,163,2>b,203,,2\n"), 100 * (1 - (120+81+120+121+121+119)/(150+152+150+150+150.25+149.5)), 6, Unknown,
			"verdict unknown: the parallel trials ran on different nodes (a, b, c, d, e and 1 more and a, c, d, e, f)"},
		{"a node that was alone only", without(t, "f,200,159,2>f,200,,2\n", "f,99,79,1>f,99,,1\n"), 100 * (1 - (402.+806)/(498.5+1006)), 5, Degraded, "node f: serial value only; left out"},
		{"one phase only", without(t, append(noParallel, "a,100,80,1>a,100,,1\n", "b,101,81,1>b,101,,1\n", "c,99,80,1>c,99,,1\n", "d,99,81,1>d,99,,1\n", "e,99.5,80,1>e,99.5,,1\n", "f,99,79,1>f,99,,1\n")...),
			math.NaN(), 6, Unknown, "verdict unknown: there are no parallel values"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs, err := imported(strings.NewReader(c.table), "x.csv")
			if err != nil || len(fs) != 1 {
				t.Fatalf("Import = %v, %v, want one finding", fs, err)
			}
			f := fs[0]
			if math.IsNaN(c.cdi) != (f.CDI == nil) {
				t.Errorf("CDI %v, want %v", f.CDI, c.cdi)
			} else if f.CDI != nil {
				wantValue(t, "CDI", f.CDI, c.cdi, 1e-9)
			}
			if f.Verdict != c.verdict || f.Nodes != c.nodes {
				t.Errorf("verdict %s of %d nodes, want %s of %d", f.Verdict, f.Nodes, c.verdict, c.nodes)
			}
			if c.text != "" {
				wantWarning(t, f, c.text)
			}
			if strings.HasPrefix(c.text, left) {
				if warned(f, "verdict unknown") || warned(f, "different nodes") {
					t.Errorf("warnings %q, want no doubt", texts(f.Doubts))
				}
			} else if warned(f, "left out, because") {
				t.Errorf("warnings %q, want none about trials", texts(f.Doubts))
			}
		})
	}
}

// TestTableTrialsAsAlone: a table is what its complete trials are alone, but for
// the warning.
func TestTableTrialsAsAlone(t *testing.T) {
	var alone strings.Builder
	for line := range strings.Lines(unequalTable) {
		if !strings.HasSuffix(line, ",2\n") {
			alone.WriteString(line)
		}
	}
	want, err := imported(strings.NewReader(alone.String()), "x.csv")
	if err != nil {
		t.Fatal(err)
	}
	// What is dropped is dropped from the uncertainty of printed values, too.
	got, err := imported(strings.NewReader(without(t, "c,201,160,2>c,,160,2\n")), "x.csv")
	if err != nil {
		t.Fatal(err)
	}
	got[0].Doubts = slices.DeleteFunc(got[0].Doubts, func(d caveat.Caveat) bool { return d.Code == "incomplete_trials" })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("one trial of two complete (-that trial alone +got):\n%s", diff)
	}
}

// TestTableSingleTrial: of a single trial, whatever its number, the comparison
// says what is missing, as of a table without a column trial.
func TestTableSingleTrial(t *testing.T) {
	for _, column := range []string{"", "1", "7"} {
		var table strings.Builder
		table.WriteString("node,serial,parallel,trial\n")
		for _, row := range []string{"a,100,80", "b,104,81", "c,99,", "d,,83"} {
			fmt.Fprintf(&table, "%s,%s\n", row, column)
		}
		fs, err := imported(strings.NewReader(table.String()), "x.csv")
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"verdict unknown: node d took part in the parallel phase and has no serial value",
			"the numbers come from a file: it is unknown whether the nodes were active together and whether they are equal",
			"node c: serial value only; left out",
		}
		if got := texts(fs[0].Doubts)[:3]; !slices.Equal(got, want) {
			t.Errorf("trial %q: warnings %q, want %q first", column, got, want)
		}
	}
}

// TestUncertaintyOfPrinted: each value is known to its last digit.
func TestUncertaintyOfPrinted(t *testing.T) {
	values := cells{1: {"a": {2, 1}, "b": {4, 2}}}
	if got, want := values.uncertainty(1), (.5+.25)/2/math.Sqrt(12); math.Abs(got-want) > 1e-15 {
		t.Errorf("uncertainty = %v, want %v", got, want)
	}
}

// TestCopiedTrials: values without any scatter, as copied ones have, give no
// interval, in two trials as in one.
func TestCopiedTrials(t *testing.T) {
	// The same trial several times says no more than once: Fieller's interval.
	const once = ",412.1,205.2,%d\nb,398.3,214.9,%[1]d\nc,405.7,197.3,%[1]d\n"
	var first Interval
	for copies := 1; copies <= 4; copies++ {
		table := "node,serial,parallel,trial\n"
		for trial := 1; trial <= copies; trial++ {
			table += "a" + fmt.Sprintf(once, trial)
		}
		f, err := imported(strings.NewReader(table), "x.csv")
		if err != nil {
			t.Fatal(err)
		}
		if copies == 1 {
			first = *f[0].CI
		}
		if f[0].CIFleet != nil || math.Abs(f[0].CI[0]-first[0]) > 1e-6 || math.Abs(f[0].CI[1]-first[1]) > 1e-6 || first[1]-first[0] < 5 {
			t.Errorf("%d copies: interval %v of these, %v; want none, and %v", copies, f[0].CIFleet, *f[0].CI, first)
		}
	}
	var table strings.Builder
	table.WriteString("node,serial,parallel,trial\n")
	for _, node := range []string{"a", "b", "c", "d", "e", "f"} {
		fmt.Fprintf(&table, "%s,100.123,100.120,1\n", node)
	}
	f, err := imported(strings.NewReader(table.String()), "x.csv")
	if err != nil {
		t.Fatal(err)
	}
	if f[0].Verdict != Unknown || f[0].CI != nil {
		t.Errorf("%s %v, want unknown and no interval", f[0].Verdict, f[0].CI)
	}
}

// TestFleetOfAllTrials: an interval of other trials than the index is none.
func TestFleetOfAllTrials(t *testing.T) {
	const table = "node,serial,parallel,trial\na,100,100,1\nb,101,101,1\na,100,101,2\nb,101,100,2\na,100,80,3\n"
	f, err := imported(strings.NewReader(table), "x.csv")
	if err != nil {
		t.Fatal(err)
	}
	if iv := f[0].CIFleet; iv != nil && !iv.Contains(*f[0].CDI) {
		t.Errorf("the interval %v does not hold the index %v", iv, *f[0].CDI)
	}
}
