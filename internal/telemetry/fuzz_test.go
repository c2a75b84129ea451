package telemetry

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// fuzz reads whatever text as files that begin like those of the pattern: errors are those of
// input, and recordings keep what they promise.
func fuzz(f *testing.F, pattern string, more ...string) {
	paths, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text[:min(len(text), 4000)]))
	}
	for _, text := range more {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, opt := range []Options{{}, {Period: time.Second}} {
			list, err := Read(t.Context(), "f", strings.NewReader(text), opt)
			if err != nil {
				if !errors.Is(err, model.ErrUsage) {
					t.Fatalf("%v", err)
				}
				continue
			}
			for _, r := range list {
				holds(t, r)
			}
		}
	})
}

// holds holds a recording to what the package promises.
func holds(t *testing.T, r Recording) {
	t.Helper()
	last := math.Inf(-1)
	for i, begin := range r.Begin {
		if !(begin >= last) || !(r.End[i] > begin) || math.IsInf(r.End[i], 0) {
			t.Fatalf("period %d from %v to %v, the one before to %v", i, begin, r.End[i], last)
		}
		last = r.End[i]
	}
	for m, values := range r.Rates {
		if len(values) != len(r.Begin) {
			t.Fatalf("%s has %d values of %d periods", m, len(values), len(r.Begin))
		}
		for _, v := range values {
			if v < 0 || math.IsInf(v, 0) {
				t.Fatalf("%s is %v", m, v)
			}
		}
	}
	for _, c := range r.filled() {
		if strings.HasPrefix(string(c.Text), string(c.Code)+" ") {
			t.Fatalf("no text: %s", c.Text)
		}
	}
}

func FuzzIostatJSON(f *testing.F) { fuzz(f, "iostat*.json") }

func FuzzIostatText(f *testing.F) {
	fuzz(f, "iostat*.txt", reportsAt("10:00:01", "10:00:00", "12:00:00"))
}

func FuzzDiskstats(f *testing.F) { fuzz(f, "diskstats*.txt", "1\n"+oneDisk+"2\n"+oneDisk) }

func FuzzCSV(f *testing.F) {
	fuzz(f, "*.csv", "time,ops\n1,2\n2,3\n", "time;volume;ops;credits\n1.2.26 10:00;a;1,5;85%\n2;a;2,5;\n")
}
