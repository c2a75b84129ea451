package loadserver

import (
	"fmt"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/load"
)

// TestAdmit: of requests that are evenly spaced, what exceeds the rate is
// refused, after the burst; none is where they keep it.
func TestAdmit(t *testing.T) {
	for _, c := range []struct{ rate, burst, load, want float64 }{
		{300, 3, 300, 0}, {300, 3, 299.9, 0}, {300, 3, 330, 300 - 3}, {300, 100, 330, 300 - 100}, {300, 3, 1000, 7000 - 3},
		{300, 1, 303, 3030. / 2}, // every second one finds less than a token
		{1723.4, 17, 1740, 166 - 17},
	} {
		refused := 0
		for _, r := range offer(Behaviour{Admit: Admit{c.rate, c.burst}}, load.Constant, c.load, int(10*c.load)) {
			if r.Outcome == Refused {
				refused++
			}
		}
		if d := float64(refused) - c.want; d < -2 || d > 2 {
			t.Errorf("%v/s to %v/s with a burst of %v: %d refused in 10 s, want %v", c.load, c.rate, c.burst, refused, c.want)
		}
	}
}

// TestAdmitLoad: at the load that is computed the share is refused that was asked
// for, in the window.
func TestAdmitLoad(t *testing.T) {
	const share, warmUp, window = .01, time.Second, 2 * time.Second
	for _, a := range []Admit{{1000, 5}, {1000, 10}, {1000, 20}, {1000, 200}, {377, 4}} {
		rate := a.Load(share, warmUp, window)
		due, refused := 0, 0
		for _, r := range offer(Behaviour{Admit: a}, load.Constant, rate, int(rate*3)) {
			if r.Arrived < warmUp {
				continue
			}
			if due++; r.Outcome == Refused {
				refused++
			}
		}
		if got := float64(refused) / float64(due); got < share-.001 || got > share+.001 {
			t.Errorf("%+v: at %.1f/s %.4f of a window are refused, want %v", a, rate, got, share)
		}
	}
}

func TestWear(t *testing.T) {
	w := Wear{From: 10, To: 20, Factor: 3}
	for n, want := range map[int]float64{0: 1, 9: 1, 10: 1, 15: 2, 20: 3, 1000: 3} {
		if got := w.After(n); got != want {
			t.Errorf("%+v.After(%d) = %v, want %v", w, n, got, want)
		}
	}
	if got := (Wear{From: 5, To: 5, Factor: 2}).After(5); got != 2 {
		t.Errorf("a step: %v, want 2", got)
	}
	var took []time.Duration
	for _, r := range offer(Behaviour{Service: time.Second, Wear: Wear{1, 3, 2}}, load.Constant, 1, 5) {
		took = append(took, r.Due-r.Arrived)
	}
	if got, want := fmt.Sprint(took), "[1s 1s 1.5s 2s 2s]"; got != want {
		t.Errorf("service took %s, want %s", got, want)
	}
}
