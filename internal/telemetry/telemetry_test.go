package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/golden"
)

// read reads a text as a file.
func read(t *testing.T, text string, opt Options) []Recording {
	t.Helper()
	list, err := Read(t.Context(), "file", strings.NewReader(text), opt)
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return list
}

// readFile reads a file of testdata.
func readFile(t *testing.T, name string, opt Options) ([]Recording, error) {
	t.Helper()
	in, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close() //nolint:errcheck // read only
	return Read(t.Context(), name, in, opt)
}

// summary is what people check in a golden file: the periods and the values of each recording.
func summary(list []Recording) string {
	var b strings.Builder
	for _, r := range list {
		fmt.Fprintf(&b, "  %s/%s: %d periods", r.Node, r.Service, len(r.Begin))
		if len(r.Begin) > 0 {
			fmt.Fprintf(&b, " from %s to %s", clockOf(r.Begin[0]), clockOf(r.End[len(r.End)-1]))
		}
		b.WriteByte('\n')
		for _, m := range slices.Sorted(maps.Keys(r.Rates)) {
			fmt.Fprintf(&b, "    %s: %s\n", m, strings.Trim(fmt.Sprintf("%.7g", r.Rates[m][:min(5, len(r.Begin))]), "[]"))
		}
		for _, c := range r.filled() {
			fmt.Fprintf(&b, "    %s: %s\n", c.Code, c.Text)
		}
	}
	return b.String()
}

func clockOf(at float64) string {
	return time.UnixMilli(int64(math.Round(at * 1e3))).UTC().Format("2006-01-02 15:04:05.000")
}

func (r *Recording) filled() caveat.List {
	list := r.Caveats()
	Caveats.Fill(caveat.Subject{}, list)
	return list
}

// TestFiles reads what real programs wrote: iostat of sysstat 11.0.0 to 12.7.9, in several
// locales, and /proc/diskstats.
func TestFiles(t *testing.T) {
	var b strings.Builder
	names, err := filepath.Glob("testdata/*[st]-*[nt]")
	if err != nil || len(names) < 20 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	for _, path := range names {
		name := filepath.Base(path)
		opt := Options{Period: time.Second}
		if strings.Contains(name, "-t.") || strings.HasPrefix(name, "diskstats") {
			opt.Period = 0
		}
		list, err := readFile(t, name, opt)
		fmt.Fprintf(&b, "%s\n%s", name, summary(list))
		if err != nil {
			fmt.Fprintf(&b, "  %v\n", err)
		}
	}
	golden.Check(t, "testdata/files.golden", b.String())
}

// total is the sum of rate and length over the periods.
func total(r Recording, m Measure) (sum float64) {
	for i, v := range r.Rates[m] {
		sum += v * (r.End[i] - r.Begin[i])
	}
	return sum
}

// TestSums holds sums over a file to arithmetic on its text.
func TestSums(t *testing.T) {
	for _, c := range []struct {
		file    string
		service int
		measure Measure
		periods int
		want    float64
	}{
		{"iostat-p1.json", 0, ReadOps, 12, 3447.03},
		{"iostat-p1.json", 0, ReadBytes, 12, 14119034.88},
		{"iostat-cassandra-3nodes-300.json", 0, ReadOps, 14, 3987},
		{"iostat-cassandra-3nodes-300.json", 2, ReadBytes, 14, 319619072},
		{"diskstats-each-second-p1.txt", 0, ReadOps, 12, 3600},
		{"diskstats-each-second-p1.txt", 0, ReadBytes, 12, 28800 * 512},
		{"diskstats-bucket.txt", 0, ReadOps, 120, 18035},
		{"diskstats-bucket.txt", 0, WriteOps, 120, 0},
		{"diskstats-blocks.txt", 1, WriteOps, 3, 8685783 - 8683897},
		{"diskstats-blocks.txt", 1, WriteMerges, 3, 2378552 - 2377817},
	} {
		list, err := readFile(t, c.file, Options{})
		if err != nil {
			t.Fatalf("%s: %v", c.file, err)
		}
		r := list[c.service]
		if got := total(r, c.measure); len(r.Begin) != c.periods || math.Abs(got-c.want) > 1e-6*c.want {
			t.Errorf("%s, %s, %s: %v in %d periods, want %v in %d", c.file, r.Service, c.measure, got, len(r.Begin), c.want,
				c.periods)
		}
	}
}

// TestBucket: 300 operations a second until the bucket is empty, then 100.
func TestBucket(t *testing.T) {
	list, err := readFile(t, "diskstats-bucket.txt", Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := list[0].Rates[ReadOps]
	want := Numbers{297.4, 302.6, 300.0, 298.0, 301.9, 300.1, 226.0, 300.0}
	if diff := cmp.Diff(want, got[:8], cmpopts.EquateApprox(0, .06)); diff != "" {
		t.Errorf("begins (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(slices.Repeat(Numbers{0}, 9), got[70:79]); diff != "" {
		t.Errorf("idle (-want +got):\n%s", diff)
	}
}

func TestNumbers(t *testing.T) {
	r := Recording{Source: "s", Service: "v", Begin: []float64{0, 1}, End: []float64{1, 2},
		Rates: map[Measure]Numbers{ReadOps: {1, math.NaN()}}, Remarks: []Remark{{Code: Gap, Count: 1}}}
	text, err := json.Marshal(r)
	if err != nil || !bytes.Contains(text, []byte(`"read_ops":[1,null]`)) {
		t.Fatalf("%s, %v", text, err)
	}
	var back Recording
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, back, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("back from JSON (-want +got):\n%s", diff)
	}
	if err := json.Unmarshal([]byte(`["a"]`), &back.Rates); err == nil {
		t.Error("a text is no rate")
	}
}

// TestCaveats: each code has a text, and no two are alike.
func TestCaveats(t *testing.T) {
	if problems := Caveats.Check(); len(problems) > 0 {
		t.Error(problems)
	}
	codes := []caveat.Code{SinceBoot, Cut, NoStamps, DatesGuessed, Sorted, Twice, Overlap, Absent, Gap, Reset, Wrapped,
		ClockSet, Paused, Discards, Repeated, RatesAssumed}
	if len(codes) != len(Caveats) {
		t.Errorf("%d codes, %d texts", len(codes), len(Caveats))
	}
	r := Recording{Node: "db-1", Service: "vda"}
	for _, code := range codes {
		r.remark(Remark{Code: code, Count: 2, Of: "day first", At: 1.8e9})
	}
	for _, c := range r.filled() {
		if !strings.HasPrefix(string(c.Text), "vda: ") || c.Node != "db-1" || c.Part != "vda" {
			t.Errorf("%s: %s", c.Code, c.Text)
		}
	}
}

// TestPacked: a packed file, one in UTF-16, and one with another end of lines say the same.
func TestPacked(t *testing.T) {
	const text = "time;volume;ops;bytes\r\n1800000000;a;1,5;3\r\n1800000060;a;2,5;4\r\n"
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := read(t, text, Options{})
	if got := want[0].Rates[Ops]; !slices.Equal(got, Numbers{1.5, 2.5}) {
		t.Fatalf("ops %v", got)
	}
	wide := "\xff\xfe"
	for _, c := range text {
		wide += string([]byte{byte(c), 0})
	}
	for _, other := range []string{packed.String(), strings.ReplaceAll(text, "\r", ""), wide, "\ufeff" + text} {
		if diff := cmp.Diff(want, read(t, other, Options{})); diff != "" {
			t.Error(diff)
		}
	}
	half := packed.Bytes()[:packed.Len()/2]
	if _, err := Read(t.Context(), "f.gz", bytes.NewReader(half), Options{}); !errors.Is(err, model.ErrUsage) {
		t.Errorf("a cut gzip file: %v", err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ctx, "f", strings.NewReader("time,ops\n1,2\n"), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Read when cancelled: %v", err)
	}
}
