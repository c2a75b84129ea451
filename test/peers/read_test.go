package peers

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// recorded is what a generator once printed; each had a rate of its own, for a
// second.
func recorded(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

var readers = []struct {
	name, file string
	read       func([]byte, job) (outcome, error)
	job        job
	want       outcome
}{
	{"wrk", "wrk.txt", readWrk, job{window: time.Second}, outcome{
		answered: 49782, took: 1100147 * time.Microsecond, latencies: [3]float64{156e-6, 6709e-6, 14404e-6},
	}},
	{"hey", "hey.txt", readHey, job{rate: 400, window: time.Second}, outcome{
		answered: 400, took: 1005400 * time.Microsecond, latencies: [3]float64{.0004, .0012, math.NaN()},
	}},
	{"k6", "k6.json", readK6, job{rate: 500, window: time.Second}, outcome{
		answered: 501, took: 1000499193, latencies: [3]float64{179.136e-6, 562.375e-6, 1.9726515000001354e-3},
	}},
}

// TestRead: what each generator printed is understood.
func TestRead(t *testing.T) {
	same := cmp.Options{cmp.AllowUnexported(outcome{}), cmpopts.EquateNaNs(), cmpopts.EquateApprox(1e-9, 0)}
	for _, x := range readers {
		got, err := x.read(recorded(t, x.file), x.job)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
		}
		x.want.lag = math.NaN()
		if diff := cmp.Diff(x.want, got, same); diff != "" {
			t.Errorf("%s (-want +got):\n%s", x.name, diff)
		}
	}
}

// TestReadRefuses: output that cannot be parsed gives no figure.
func TestReadRefuses(t *testing.T) {
	for _, x := range readers {
		for what, text := range map[string][]byte{
			"nothing": nil, "something else": []byte("Requests/sec: 12"), "half of it": recorded(t, x.file)[:200],
		} {
			if got, err := x.read(text, x.job); err == nil {
				t.Errorf("%s, told %s: %+v, want an error", x.name, what, got)
			}
		}
	}
}
