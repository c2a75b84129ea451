package files

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
)

const goBench = `goos: linux
goarch: amd64
pkg: example.com/codec
cpu: AMD EPYC 7B13
BenchmarkEncode/size=1k/gob-8   	     100	    100.5 ns/op	 118.3 MB/s	      16 B/op
BenchmarkEncode/size=1k/gob-8   	     100	    101 ns/op	 119 MB/s	      16 B/op
BenchmarkWait-8
    bench_test.go:12: waiting
BenchmarkWait-8   	     5	    7 p99-ms	NaN ns/op
Unit p99-ms better=lower
PASS
ok  	example.com/codec	3.1s
pkg: example.com/other
BenchmarkWait-4   	     5	    9 p99-ms
BenchmarkSum   	     5	    0 ns/op
`

const goBenchWant = `example.com/codec.Encode/size=1k/gob-8|ns/op| [ns/op] lower [100.5 101]
  goos ["linux"] [1 1]
  goarch ["amd64"] [1 1]
  pkg ["example.com/codec"] [1 1]
  cpu ["AMD EPYC 7B13"] [1 1]
  size ["1k"] [1 1]
  gomaxprocs ["8"] [1 1]
example.com/codec.Encode/size=1k/gob-8|MB/s| [MB/s] higher [118.3 119]
  goos ["linux"] [1 1]
  goarch ["amd64"] [1 1]
  pkg ["example.com/codec"] [1 1]
  cpu ["AMD EPYC 7B13"] [1 1]
  size ["1k"] [1 1]
  gomaxprocs ["8"] [1 1]
example.com/codec.Encode/size=1k/gob-8|B/op| [B/op] lower [16 16]
  goos ["linux"] [1 1]
  goarch ["amd64"] [1 1]
  pkg ["example.com/codec"] [1 1]
  cpu ["AMD EPYC 7B13"] [1 1]
  size ["1k"] [1 1]
  gomaxprocs ["8"] [1 1]
example.com/codec.Wait-8|p99-ms| [p99-ms] lower [7]
  goos ["linux"] [1]
  goarch ["amd64"] [1]
  pkg ["example.com/codec"] [1]
  cpu ["AMD EPYC 7B13"] [1]
  gomaxprocs ["8"] [1]
example.com/other.Wait-4|p99-ms| [p99-ms] lower [9]
  goos ["linux"] [1]
  goarch ["amd64"] [1]
  pkg ["example.com/other"] [1]
  cpu ["AMD EPYC 7B13"] [1]
  gomaxprocs ["4"] [1]
example.com/other.Sum|ns/op| [ns/op] lower [0]
  goos ["linux"] [1]
  goarch ["amd64"] [1]
  pkg ["example.com/other"] [1]
  cpu ["AMD EPYC 7B13"] [1]
- example.com/codec.Wait-8 ns/op is left out: no line has a value
- 10 values of Go benchmarks
`

// TestBenchFactTwice: a fact that a line has twice, in the configuration and in the name, or
// twice in the name, is one: the first. Each row has one level of it.
func TestBenchFactTwice(t *testing.T) {
	const line = "BenchmarkX/cpu=4/n=1/N=2/gomaxprocs=8-8 \t 100 \t %d ns/op\n"
	text := "cpu: EPYC\n" + fmt.Sprintf(line, 1) + "cpu: Xeon\n" + fmt.Sprintf(line, 2) + fmt.Sprintf(line, 3)
	frames, told, err := Read(t.Context(), "x", strings.NewReader(text), frame.Choice{}, Limits{})
	want := `X/cpu=4/n=1/N=2/gomaxprocs=8-8|ns/op| [ns/op] lower [1 2 3]
  cpu ["EPYC" "Xeon"] [1 2 2]
  n ["1"] [1 1 1]
  gomaxprocs ["8"] [1 1 1]
- 3 values of Go benchmarks
`
	if d := diff.Diff(want, outline(frames, told)); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}

// TestBench: what go test -bench prints.
func TestBench(t *testing.T) {
	for name, text := range map[string]string{"plain": goBench, "packed": packers(t, goBench)["gzip"], "with other output before": "building ...\n\n" + goBench} {
		frames, told, err := Read(t.Context(), "old.txt", strings.NewReader(text), frame.Choice{}, Limits{})
		if d := diff.Diff(goBenchWant, outline(frames, told)); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, d)
		}
	}
}

func TestBenchRefused(t *testing.T) {
	for text, want := range map[string]string{
		"BenchmarkA 1 5 ns/op\nBenchmarkB 1 x ns/op\nBenchmarkC 1 5\n": "new.txt:2:1: parsing measurement: invalid syntax; give the output of `go test -bench` as it was printed\nnew.txt:3:1: missing units; give the output of `go test -bench` as it was printed",
		"BenchmarkA 1 Inf ns/op\n":                                     "new.txt:1:1: the value in ns/op is infinite; a measured value is finite",
		"goos: linux\nPASS\n":                                          "new.txt: no benchmark has a value; give the output of `go test -bench` as it was printed",
	} {
		if _, _, err := Read(t.Context(), "new.txt", strings.NewReader(text), frame.Choice{}, Limits{}); said(err) != want || !errors.Is(err, model.ErrUsage) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// measured are frames as runs give them.
func measured() []frame.Frame {
	zone := frame.Fact{Name: "cpu_model", Levels: []string{"", "Intel Xeon"}, Codes: []uint16{1, 1, 1}}
	node := frame.Fact{Name: "node", Levels: []string{"", "n1", "n2"}, Codes: []uint16{1, 2, 1}}
	return []frame.Frame{
		{Key: frame.Key{Workload: "disk", Metric: "read rate{test=a}", Phase: model.Serial}, Unit: "MB/s", Better: model.Higher, Values: []float64{1e9, 2.5, 3}, Facts: []frame.Fact{zone, node}},
		{Key: frame.Key{Metric: "score", Phase: model.Parallel}, Better: model.Higher, Values: []float64{7, 8, 9}, Facts: []frame.Fact{zone}},
	}
}

// TestWriteBench: frames become lines that are read back as they were, as far as
// the format has a place for them.
func TestWriteBench(t *testing.T) {
	var b bytes.Buffer
	if err := WriteBench(&b, measured()); err != nil {
		t.Fatal(err)
	}
	want := `Unit score better=higher
cpu_model: Intel Xeon

BenchmarkDisk/metric=read_rate{test=a}/phase=serial 1 1e+09 MB/s
BenchmarkDisk/metric=read_rate{test=a}/phase=serial 1 2.5 MB/s
BenchmarkDisk/metric=read_rate{test=a}/phase=serial 1 3 MB/s
BenchmarkScore 1 7 score
BenchmarkScore 1 8 score
BenchmarkScore 1 9 score
`
	if d := diff.Diff(want, b.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	frames, _, err := Read(t.Context(), "x", strings.NewReader(goBench), frame.Choice{}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	b.Reset()
	if err := WriteBench(&b, frames[:3]); err != nil {
		t.Fatal(err)
	}
	again, _, err := Read(t.Context(), "x", &b, frame.Choice{}, Limits{})
	if err != nil || len(again) != 3 {
		t.Fatalf("%d frames, %v", len(again), err)
	}
	for i, f := range again {
		if d := diff.Diff(frames[i].Key, f.Key) + diff.Diff(frames[i].Values, f.Values); d != "" || f.Better != frames[i].Better || f.Fact(factProcs).Level(0) != "8" || f.Fact("cpu").Level(0) != "AMD EPYC 7B13" {
			t.Errorf("read back (-written +read):\n%s%+v", d, f)
		}
	}
}

// TestBenchstat: benchstat itself reads what is written, and finds the same
// benchmarks in both files.
func TestBenchstat(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.txt", "b.txt"} {
		var b bytes.Buffer
		if err := WriteBench(&b, measured()); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", "golang.org/x/perf/cmd/benchstat", filepath.Join(dir, "a.txt"), filepath.Join(dir, "b.txt"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"cpu_model: Intel Xeon", "Disk/metric=read_rate{test=a}/phase=serial", "Score", "p=1.000 n=3"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("benchstat does not say %q:\n%s", want, out)
		}
	}
}
