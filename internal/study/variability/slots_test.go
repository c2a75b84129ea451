package variability

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/doc/render"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/frame/files"
	"github.com/scalebench/scalebench/test/truth/simulated"
)

// TestSlots: mean and COV of each weekday and hour equal an own calculation to nine
// digits, of all rows and of each location, in the zone of the question.
func TestSlots(t *testing.T) {
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 12))
		zone := []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"}[rng.IntN(4)]
		place, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		var table strings.Builder
		table.WriteString("at,location,node,score\n")
		values := make(map[string][]float64) // by fact, level and slot
		at := time.Unix(1_260_000_000+rng.Int64N(1e7), 0)
		for range 400 + rng.IntN(400) {
			at = at.Add(time.Duration(rng.IntN(90)+10) * time.Minute)
			if rng.IntN(100) == 0 {
				at = at.AddDate(0, 0, rng.IntN(4)) // missing days
			}
			where := []string{"us", "eu", "asia"}[rng.IntN(2+int(seed%2))]
			local := at.In(place)
			v := 1000 + (20+30*rng.Float64()*float64(local.Weekday()))*rng.NormFloat64()
			fmt.Fprintf(&table, "%s,%s,n%d,%v\n", at.UTC().Format(time.RFC3339), where, rng.IntN(5), v)
			for _, slot := range []string{local.Weekday().String(), local.Format("15 h")} {
				values[slot], values[where+slot] = append(values[slot], v), append(values[where+slot], v)
			}
		}
		p := New()
		p.By, p.Zone = []string{"Day of Week, hour of day", "location"}, zone
		frames, _, err := files.Read(t.Context(), "drawn.csv", strings.NewReader(table.String()), p.Takes().Choice,
			files.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		r := ask(t, p, frames...)
		got := 0
		for _, s := range r.Metrics[0].Slots {
			for _, l := range s.Levels {
				for _, x := range l.Slots {
					n, mean, cov := ownSpread(values[l.Level+x.Slot])
					if x.N != n || !near(x.Mean, mean) || n > 1 && !near(*x.COV, cov) || n == 1 && x.COV != nil {
						t.Errorf("seed %d: %s %s %s = %+v, want n %d, mean %v, COV %v", seed, s.By, l.Level, x.Slot, x, n, mean, cov)
					}
					got++
				}
			}
		}
		if got != len(values) {
			t.Errorf("seed %d: %d slots, want %d", seed, got, len(values))
		}
		var text bytes.Buffer
		if err := render.Write(&text, r.Document(), r, render.FormatText, render.TextOptions{Width: 200}); err != nil {
			t.Fatal(err)
		}
		holds(t, text.String(), "COV by day of week", "COV by hour of day", "LOCATION")
		everywhere(t, r)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }

// ownSpread is the arithmetic of the paper's formula.
func ownSpread(values []float64) (n int, mean, cov float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	squares := 0.0
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return len(values), mean, math.Sqrt(squares/float64(len(values)-1)) / mean
}

// TestClusterMeans: clusters have their means in the order of time (the paper, Fig. 13).
func TestClusterMeans(t *testing.T) {
	rng, tab := rand.New(rand.NewPCG(1, 13)), simulated.NewTable(frame.FactRepetition, frame.FactSubject)
	want := make([]float64, 35)
	for hour := range want {
		for node := range 10 {
			v := 100 + 10*rng.NormFloat64()
			want[hour] += v / 10
			tab.At(v, int64(hour)*int64(time.Hour), fmt.Sprint(99-hour), fmt.Sprint("node", node))
		}
	}
	r := ask(t, New(), tab.Frame())
	means := r.Metrics[0].Clusters.Means
	if len(means) != len(want) {
		t.Fatalf("%d means, want %d", len(means), len(want))
	}
	for hour, m := range means {
		if !near(m.Mean, want[hour]) || m.At.Unix() != int64(hour)*3600 {
			t.Errorf("hour %d: mean %v at %v, want %v", hour, m.Mean, m.At, want[hour])
		}
	}
	var page bytes.Buffer
	if err := render.Write(&page, r.Document(), r, render.FormatHTML, render.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	holds(t, page.String(), "Means of clusters over time")
}
