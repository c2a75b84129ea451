package loadserver

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestStall(t *testing.T) {
	s := Stall{Every: 10 * time.Second, For: time.Second}
	const sec = time.Second
	for _, c := range []struct {
		name          string
		t, work, want time.Duration
	}{
		{"far from it", 2 * sec, sec, 3 * sec},
		{"done as it begins", 8 * sec, sec, 9 * sec},
		{"through it", 8 * sec, 2 * sec, 11 * sec},
		{"arrives as it begins", 9 * sec, 0, 10 * sec},
		{"arrives in it", 9*sec + sec/2, sec, 11 * sec},
		{"arrives as it ends", 10 * sec, sec, 11 * sec},
		{"through three", 8 * sec, 1*sec + 2*9*sec + 4*sec, 34 * sec},
		{"ends with a period", 0, 18 * sec, 19 * sec},
		{"no work", 15 * sec, 0, 15 * sec},
	} {
		if got := s.after(c.t, c.work); got != c.want {
			t.Errorf("%s: after(%v, %v) = %v, want %v", c.name, c.t, c.work, got, c.want)
		}
	}
	if got := (Stall{}).after(3*sec, 4*sec); got != 7*sec {
		t.Errorf("without a stall: %v", got)
	}
}

// TestStallStepByStep: the same as working tick by tick.
func TestStallStepByStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		every := 2 + rng.Int64N(20)
		s := Stall{Every: time.Duration(every), For: time.Duration(1 + rng.Int64N(every-1))}
		begin, work := rng.Int64N(60), rng.Int64N(60)
		want := begin
		for left := work; ; want++ {
			working := want%every < every-int64(s.For)
			if left == 0 && (working || work > 0) {
				break
			}
			if working {
				left--
			}
		}
		if got := s.after(time.Duration(begin), time.Duration(work)); int64(got) != want {
			t.Fatalf("%+v.after(%d, %d) = %d, want %d", s, begin, work, got, want)
		}
	}
}
