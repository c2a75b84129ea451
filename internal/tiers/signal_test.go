package tiers

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/probe"
	"github.com/scalebench/scalebench/internal/recording"
)

// TestSignals: names are unique, and what probes tell is listed.
func TestSignals(t *testing.T) {
	var names []string
	for _, s := range Signals() {
		if slices.Contains(names, s.Name) || strings.ContainsAny(s.Name, ".: ") || s.Unit == "" {
			t.Errorf("a signal that is listed twice or badly: %+v", s)
		}
		names = append(names, s.Name)
	}
	told := map[string]bool{}
	for _, k := range probe.Kinds() {
		for _, name := range k.Tells {
			told[name] = true
			if !slices.Contains(names, name) {
				t.Errorf("%s tells %s, which is not listed", k.Name, name)
			}
		}
	}
	for _, m := range probe.Metrics() {
		if !told[m.Name] {
			t.Errorf("%s is listed, and no kind of server tells it", m.Name)
		}
	}
}

// TestDocumented: docs/ntier.md has the list of signals, and every kind of probe.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/ntier.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range Signals() {
		if row := row(s); !strings.Contains(string(text), row) {
			t.Errorf("under its heading Signals docs/ntier.md has no row that begins with%s", row)
		}
	}
	for _, k := range probe.Kinds() {
		if !strings.Contains(string(text), "| `"+k.Name+"` |") {
			t.Errorf("docs/ntier.md does not tell of the probe %s", k.Name)
		}
	}
}

// row begins the row of a signal: with its name, its unit, and the probes that tell it.
func row(s recording.Metric) string {
	unit, probes := s.Unit, []string(nil)
	if s.Counter {
		unit += ", counter"
	}
	for _, k := range probe.Kinds() {
		if slices.Contains(k.Tells, s.Name) {
			probes = append(probes, k.Name)
		}
	}
	begin := fmt.Sprintf("\n| `%s` | %s | ", s.Name, unit)
	if len(probes) > 0 {
		begin += "probe: " + strings.Join(probes, ", ") + " | "
	}
	return begin
}

// TestUsed: a share is how things are, until readings fail for some seconds.
func TestUsed(t *testing.T) {
	for _, tt := range []struct {
		ago  time.Duration // of the last reading
		want bool
	}{{0, true}, {10 * time.Second, false}} {
		w, now := New(Config{}), time.Now().Add(-tt.ago)
		w.note(now.Add(-time.Second), 3, 2)
		w.note(now, 4, 2)
		if share, ok := w.Used(); ok != tt.want || ok && math.Abs(share-.5) > 1e-6 {
			t.Errorf("%v after a reading Used = %v, %v, want .5, %v", tt.ago, share, ok, tt.want)
		}
	}
}
