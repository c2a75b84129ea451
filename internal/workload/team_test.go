package workload

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// TestTeam: each thread counts over its own time, to its last step.
func TestTeam(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := func(n uint64, takes time.Duration) func() (uint64, error) {
			return func() (uint64, error) { <-time.After(takes); return n, nil }
		}
		// The second one's last step ends 2 s after the deadline.
		team := StartTeam(t.Context(), time.Now().Add(10*time.Second), []func() (uint64, error){step(1, time.Second), step(6, 4*time.Second)})
		<-team.Done()
		rate, each, err := team.Result()
		if err != nil || rate != 1+1.5 || math.Abs(each-22./28) > 1e-12 || team.Total() != 28 {
			t.Errorf("rate %v, each %v, total %v, %v; want 2.5, 22/28, 28", rate, each, team.Total(), err)
		}
	})
}

// TestTeamEnds: the error of one ends all, and so does the context.
func TestTeamEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin, wrong := time.Now(), errors.New("wrong")
		second := func() (uint64, error) { <-time.After(time.Second); return 1, nil }
		team := StartTeam(t.Context(), begin.Add(time.Hour), []func() (uint64, error){second, func() (uint64, error) {
			<-time.After(2500 * time.Millisecond)
			return 0, wrong
		}})
		<-team.Done()
		if _, _, err := team.Result(); !errors.Is(err, wrong) || time.Since(begin) != 3*time.Second {
			t.Errorf("it ended after %v with %v, want 3s and the error", time.Since(begin), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		begin = time.Now()
		team = StartTeam(ctx, begin.Add(time.Hour), []func() (uint64, error){second, second})
		<-team.Done()
		if took := time.Since(begin); took != 2*time.Second || team.Total() != 4 {
			t.Errorf("it ended after %v with %v steps, want 2s and 4", took, team.Total())
		}
	})
}
