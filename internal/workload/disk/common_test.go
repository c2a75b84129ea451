package disk

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// point is one of progress.
type point struct {
	after time.Duration
	value float64
}

// record keeps what a workload reports.
type record struct {
	workload.Reporter // what these tests do not expect to be called

	mu         sync.Mutex
	progress   map[string][]point
	samples    map[string]model.Sample
	histograms map[string]model.Histogram
	codes      []int
}

func newRecord() *record {
	return &record{progress: map[string][]point{}, samples: map[string]model.Sample{}, histograms: map[string]model.Histogram{}}
}

func (r *record) ProgressAt(metric, _ string, after time.Duration, v float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress[metric] = append(r.progress[metric], point{after, v})
}
func (r *record) Sample(s model.Sample)       { r.samples[s.Metric] = s }
func (r *record) Histogram(h model.Histogram) { r.histograms[h.Metric] = h }
func (r *record) Recording(model.HostSeries)  {}
func (r *record) ExitCode(code int)           { r.codes = append(r.codes, code) }

// rate is that of a metric's counter over all of its points.
func (r *record) rate(metric string) float64 {
	p := r.progress[metric]
	if len(p) < 2 {
		return 0
	}
	last := p[len(p)-1]
	return (last.value - p[0].value) / (last.after - p[0].after).Seconds()
}

// params makes the workload from what an experiment file says.
func params(t testing.TB, text string) *Params {
	t.Helper()
	p := Kind().New().(*Params)
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(p); err != nil {
		t.Fatal(err)
	}
	return p
}

// environment of a task whose volume "data" is a folder; its words go to the
// buffer.
func environment(t *testing.T, folder string) (*workload.Env, *record, *bytes.Buffer) {
	t.Helper()
	r, words := newRecord(), &bytes.Buffer{}
	return &workload.Env{
		Volumes: map[string]string{"data": folder}, Dir: t.TempDir(), Environ: os.Environ(),
		Stdout: &bytes.Buffer{}, Stderr: words, Report: r,
	}, r, words
}

// need fails in CI and skips elsewhere.
func need(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("%s: scripts/deps.sh installs what tests need", why)
	}
	t.Skip(why)
}

func needFio(t *testing.T) {
	t.Helper()
	if _, err := workload.LookPath("fio", os.Environ()); err != nil {
		need(t, err.Error())
	}
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
