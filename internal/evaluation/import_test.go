package evaluation

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/golden"
)

// TestTable2 feeds all of Table 2 of ScaleBench. The paper prints whole percents
// (and −1.5 for the network of cloud A, where its own means give −1.5693).
func TestTable2(t *testing.T) {
	file, err := os.Open("testdata/table2.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // read only
	got, err := imported(file, "table2.csv")
	if err != nil {
		t.Fatal(err)
	}
	want := []struct{ ms, mp, cdi, total float64 }{
		{7543, 7490, .7026, 149800}, {9052, 8554, 5.5015, 171080}, {6819, 5157, 24.3731, 103140}, {9237, 7775, 15.8276, 155500},
		{660, 660, 0, 13200}, {721, 684, 5.1318, 13680}, {958, 508, 46.9729, 10160}, {866, 413, 52.3095, 8260},
		{1147, 1165, -1.5693, 23300}, {1234, 1237, -.2431, 24740}, {847, 835, 1.4168, 16700}, {564, 486, 13.8298, 9720},
		{578, 568, 1.7301, 11360}, {644, 62, 90.3727, 1240}, {536, 156, 70.8955, 3120}, {766, 282, 63.1854, 5640},
	}
	if len(got) != len(want) {
		t.Fatalf("%d findings, want %d", len(got), len(want))
	}
	for i, w := range want {
		f := got[i]
		what := f.Workload + ", " + f.Metric
		wantValue(t, what+": CDI", f.CDI, w.cdi, .00005)
		wantValue(t, what+": M_s", f.Serial.Mean, w.ms, 0)
		wantValue(t, what+": M_p", f.Parallel.Mean, w.mp, 0)
		wantValue(t, what+": 20 × M_p", f.Parallel.Total, w.total, 0)
		for _, p := range []*float64{f.Serial.Min, f.Serial.Max, f.Serial.SD, f.Parallel.Min, f.Parallel.Max, f.Parallel.SD} {
			if p != nil {
				t.Errorf("%s: %v where nothing is known of single nodes, want nil", what, *p)
			}
		}
		if f.Nodes != 20 || f.CI != nil || f.BCa != nil || f.Verdict != Unknown || !warned(f, "there is no interval") {
			t.Errorf("%s: %d nodes, interval %v, verdict %s, want 20, none, unknown with a warning", what, f.Nodes, f.CI, f.Verdict)
		}
	}
}

const longForm = `# my own numbers
node,phase,value,unit,trial
a,serial,100,MB/s,1
b,serial,104,MB/s,1
c,serial,97,MB/s,1
a,parallel,81,MB/s,1
b,parallel,80,MB/s,1
c,parallel,79,MB/s,1
a,Serial,101,MB/s,2
b,serial,103,MB/s,2
c,serial,98,MB/s,2
a,parallel,80,MB/s,2
b,parallel,82,MB/s,2
c,PARALLEL,78.5,MB/s,2
`

// TestForms: the same numbers in every form and dialect give the same finding.
func TestForms(t *testing.T) {
	want, err := imported(strings.NewReader(longForm), "mine.csv")
	if err != nil {
		t.Fatal(err)
	}
	serial, parallel := 603./6, 480.5/6
	wantValue(t, "CDI", want[0].CDI, 100*(1-parallel/serial), 1e-9)
	if f := want[0]; f.Workload != "mine" || f.Metric != "capacity" || f.Unit != "MB/s" || f.Nodes != 3 || len(f.CDITrials) != 2 || f.CI == nil || f.BCa == nil {
		t.Errorf("finding = %+v, want mine, capacity, MB/s, 3 nodes, 2 trials, intervals", f)
	}
	const wide = "\ufeffParallel; Serial ;NODE;unit;Trial\r\n81;100;a;MB/s;1\r\n\r\n80;104;b;MB/s;\r\n79;97;c;MB/s;1\r\n;;;;\r\n80;101;a;MB/s;2\r\n82;103;b;MB/s;2\r\n78.5;98;c;MB/s;2\r\n"
	for name, text := range map[string]string{
		"wide, semicolons, byte order mark, CRLF": wide,
		"tabs": strings.ReplaceAll(longForm, ",", "\t"),
	} {
		got, err := imported(strings.NewReader(text), "mine.csv")
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-long form +this):\n%s", name, diff)
		}
	}
}

// TestCSVDetails: several metrics, durations, and nodes that lack a phase.
func TestCSVDetails(t *testing.T) {
	const text = `node,serial,parallel,workload,metric,unit,better
a,10,20,build,elapsed,s,lower
b,11,23,build,elapsed,s,lower
a,5,5.1,copy,rate,MB/s,higher
b,6,5.9,copy,rate,MB/s,
c,7,,copy,rate,MB/s,
d,,7,copy,rate,MB/s,
`
	fs, err := imported(strings.NewReader(text), "x.csv")
	if err != nil {
		t.Fatal(err)
	}
	if len(fs) != 2 || fs[0].Workload != "build" || fs[1].Workload != "copy" {
		t.Fatalf("findings = %+v, want build and copy", fs)
	}
	wantValue(t, "CDI of durations", fs[0].CDI, 100*(1-(1/20.+1/23.)/(1/10.+1/11.)), 1e-9)
	if !fs[0].Reciprocal || fs[0].Unit != "1/s" {
		t.Errorf("reciprocal %v in %q, want true in 1/s", fs[0].Reciprocal, fs[0].Unit)
	}
	wantValue(t, "CDI of two nodes", fs[1].CDI, 0, 1e-9)
	wantWarning(t, fs[1], "node c: serial value only; left out")
	wantWarning(t, fs[1], "node d took part in the parallel phase and has no serial value")
	if fs[1].Nodes != 2 || fs[1].Verdict != Unknown {
		t.Errorf("%d nodes, verdict %s, want 2, unknown", fs[1].Nodes, fs[1].Verdict)
	}
}

// TestCSVErrors compares everything that is wrong with each file in
// testdata/bad with the .txt beside it.
func TestCSVErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.csv")
	if err != nil || len(files) < 8 {
		t.Fatalf("testdata/bad: %d files, %v, want at least 8", len(files), err)
	}
	for _, path := range files {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			fs, err := imported(strings.NewReader(string(data)), name)
			if !errors.Is(err, model.ErrUsage) || fs != nil {
				t.Fatalf("Import = %v, %v, want ErrUsage", fs, err)
			}
			golden.Check(t, strings.TrimSuffix(path, ".csv")+".txt", err.Error()+"\n")
		})
	}
}

// failingReader fails like a disk.
type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

func TestCSVReadError(t *testing.T) {
	want := errors.New("disk on fire")
	if _, err := imported(failingReader{want}, "x.csv"); !errors.Is(err, want) || errors.Is(err, model.ErrUsage) {
		t.Errorf("Import of a failing reader: %v, want %v and not ErrUsage", err, want)
	}
}

// FuzzImport: whatever the file, there is an error that names the file, or
// findings without a number that is none.
func FuzzImport(f *testing.F) {
	f.Add(longForm)
	f.Add("node,serial,parallel\na,1,1\nb,2,1e308\n")
	f.Add("nodes;serial_mean;parallel_mean\n20;1e-300;1e300\n")
	f.Add("node,phase,value,better\na,serial,1e-320,lower\n")
	f.Add("\ufeff#\n\"node\",\"phase\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		fs, err := imported(strings.NewReader(text), "f.csv")
		if err != nil {
			if !errors.Is(err, model.ErrUsage) || !strings.HasPrefix(err.Error(), "f.csv:") {
				t.Errorf("error %q, want ErrUsage that names the file", err)
			}
			return
		}
		if len(fs) == 0 {
			t.Error("neither error nor finding")
		}
		for _, finding := range fs {
			checkFinite(t, finding)
		}
	})
}

// checkFinite fails on a number that JSON cannot carry, and on a verdict that
// the interval does not support.
func checkFinite(t *testing.T, f Finding) {
	t.Helper()
	var values []float64
	for _, p := range []*float64{
		f.Serial.Mean, f.Serial.Min, f.Serial.Max, f.Serial.SD,
		f.Parallel.Mean, f.Parallel.Min, f.Parallel.Max, f.Parallel.SD, f.Parallel.Total, f.CDI, f.CDIWhole, f.Overlap, f.StartSkewMS, f.EndSpreadMS,
	} {
		if p != nil {
			values = append(values, *p)
		}
	}
	for _, i := range []*Interval{f.CI, f.BCa} {
		if i != nil {
			values = append(values, i[0], i[1])
			if i[0] > i[1] {
				t.Errorf("interval %v is upside down", *i)
			}
		}
	}
	values = append(values, f.CDITrials...)
	for _, p := range f.Pairs {
		values = append(values, p.Serial, p.Parallel, p.ParallelWhole)
	}
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Errorf("finding holds %v: %+v", v, f)
		}
	}
	if f.Verdict != Unknown && (f.CI == nil || !supports(*f.CI, f.Verdict)) {
		t.Errorf("verdict %s with interval %v", f.Verdict, f.CI)
	}
}

// csvBlock is an example file in a Markdown text.
var csvBlock = regexp.MustCompile("(?s)```csv\n(.*?)```")

// TestDocumentedCSV reads every example of docs/methods.md.
func TestDocumentedCSV(t *testing.T) {
	text, err := os.ReadFile("../../docs/methods.md")
	if err != nil {
		t.Fatal(err)
	}
	want := []Verdict{Degraded, Degraded, Unknown}
	blocks := csvBlock.FindAllStringSubmatch(string(text), -1)
	if len(blocks) != len(want) {
		t.Fatalf("docs/methods.md has %d CSV examples, want %d", len(blocks), len(want))
	}
	for i, b := range blocks {
		fs, err := imported(strings.NewReader(b[1]), "example.csv")
		if err != nil || len(fs) != 1 || fs[0].Verdict != want[i] {
			t.Errorf("example %d: %+v, %v, want one finding, %s", i+1, fs, err, want[i])
		}
	}
}

// imported reads a table, with a quick bootstrap.
func imported(r io.Reader, name string) ([]Finding, error) {
	return Import(context.Background(), name, r, quick)
}

// supports reports whether an interval of the index supports a verdict.
func supports(i Interval, v Verdict) bool {
	switch v {
	case Degraded:
		return i[0] > 0
	case Gain:
		return i[1] < 0
	}
	return i[0] <= 0 && i[1] >= 0
}
