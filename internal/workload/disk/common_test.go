package disk

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/workloadtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// point is a reading, short enough for a table.
type point struct {
	After time.Duration
	Value float64
}

func points(r *workloadtest.Record, metric string) []point {
	var out []point
	for _, x := range r.Readings[metric] {
		out = append(out, point(x))
	}
	return out
}

// rate is that of a metric's counter over all of its readings.
func rate(r *workloadtest.Record, metric string) float64 {
	p := r.Readings[metric]
	if len(p) < 2 {
		return 0
	}
	last := p[len(p)-1]
	return (last.Value - p[0].Value) / (last.After - p[0].After).Seconds()
}

// params makes the workload from what an experiment file says.
func params(t testing.TB, text string) *Params {
	t.Helper()
	return workloadtest.Parse(t, Kind(), text).(*Params)
}

// environment of a task with a folder as its volume "data"; its log goes to the
// buffer.
func environment(t *testing.T, folder string) (*workload.Env, *workloadtest.Record, *bytes.Buffer) {
	t.Helper()
	r, words := &workloadtest.Record{T: t}, &bytes.Buffer{}
	return &workload.Env{
		Volumes: map[string]string{"data": folder}, Dir: t.TempDir(), Environ: os.Environ(),
		Stdout: &bytes.Buffer{}, Stderr: words, Report: r,
	}, r, words
}

func needFio(t *testing.T) {
	t.Helper()
	workloadtest.NeedTool(t, "fio")
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// left lists what is in a folder.
func left(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
