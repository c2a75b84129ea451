package campaign

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

// every is a schedule of so many repetitions, this far apart from the zero time
// of the tests on.
type every struct {
	gap time.Duration
	n   int
}

var zero = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func (e every) At(number int) (time.Time, bool) {
	return zero.Add(time.Duration(number-1) * e.gap), 0 < number && number <= e.n
}

func at(d time.Duration) time.Time { return zero.Add(d) }

func TestDecide(t *testing.T) {
	const gap = 30 * time.Minute
	rep := func(number int, state model.RepetitionState, reason string) model.Repetition {
		return model.Repetition{Campaign: "c", Number: number, Due: at(time.Duration(number-1) * gap), State: state, Reason: reason}
	}
	so := func(last, under int) state { return state{last: last, under: under} }
	begin := func(number int) action {
		r := rep(number, model.RepetitionRun, "")
		return action{begin: &r}
	}
	const none, busy = "no server was there", stoodStill
	for _, c := range []struct {
		name  string
		state model.CampaignState
		so    state
		since time.Duration
		now   time.Duration
		want  action
	}{
		{"the first", model.CampaignActive, so(0, 0), -time.Hour, 0, begin(1)},
		{"before the first", model.CampaignActive, so(0, 0), -time.Hour, -time.Minute, action{until: at(0)}},
		{"the next is waited for", model.CampaignActive, so(1, 0), -time.Hour, 5 * time.Minute, action{until: at(gap)}},
		{"the next begins", model.CampaignActive, so(1, 0), -time.Hour, gap + time.Second, begin(2)},
		{"one before that is still under way, again", model.CampaignActive, so(2, 1), -time.Hour, 2 * gap, action{record: []model.Repetition{rep(3, model.RepetitionSkipped, "repetition 1 had not ended")}}},
		{"after one that failed", model.CampaignActive, so(1, 0), -time.Hour, gap, begin(2)},
		{"one before is still under way", model.CampaignActive, so(1, 1), -time.Hour, gap, action{record: []model.Repetition{rep(2, model.RepetitionSkipped, "repetition 1 had not ended")}}},
		{"no server", model.CampaignActive, so(1, 0), 2*gap + 5*time.Minute, 2*gap + 5*time.Minute,
			action{record: []model.Repetition{rep(2, model.RepetitionMissed, none), rep(3, model.RepetitionMissed, none)}}},
		{"a server that came a little late", model.CampaignActive, so(1, 0), gap + 30*time.Second, gap + 31*time.Second, begin(2)},
		{"a server that was busy is late, not missed", model.CampaignActive, so(1, 0), -time.Hour, 2*gap - time.Minute, begin(2)},
		{"the machine slept", model.CampaignActive, so(1, 0), -time.Hour, 3*gap + time.Minute,
			action{record: []model.Repetition{rep(2, model.RepetitionMissed, busy), rep(3, model.RepetitionMissed, busy)}}},
		{"paused", model.CampaignPaused, so(1, 0), -time.Hour, 2*gap + time.Second,
			action{record: []model.Repetition{rep(2, model.RepetitionPaused, ""), rep(3, model.RepetitionPaused, "")}}},
		{"the disk was full", model.CampaignActive, state{last: 1, trouble: "full"}, -time.Hour, 2*gap + time.Second,
			action{record: []model.Repetition{rep(2, model.RepetitionFailed, "full")}}},
		{"one before waits", model.CampaignActive, state{last: 1, under: 1, waits: "waiting for n1"}, -time.Hour, gap,
			action{record: []model.Repetition{rep(2, model.RepetitionSkipped, "repetition 1 had not ended: waiting for n1")}}},
		{"over", model.CampaignActive, so(9, 0), -time.Hour, 9 * gap, action{over: true}},
		{"over, but for the last run", model.CampaignActive, so(9, 9), -time.Hour, 9 * gap, action{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			campaign := model.Campaign{ID: "c", State: c.state}
			got := decide(campaign, c.so, since{at(c.since), none}, at(c.now), every{gap, 9})
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(action{})); diff != "" {
				t.Errorf("decide (-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever happens to servers and runs, each time of the schedule is recorded
// once, in order, and no two runs are under way at once. Clocks are set forward and
// back meanwhile; after that no more repetitions begin than there is time for.
func TestDecideLeavesNothingOut(t *testing.T) {
	for seed := range uint64(300) {
		draw := rand.New(rand.NewPCG(seed, 0))
		times := every{time.Duration(1+draw.IntN(60)) * time.Minute, 200}
		campaign := model.Campaign{ID: "c", State: model.CampaignActive}
		var all []model.Repetition
		var so state
		now, from := zero, zero
		var passed time.Duration // in truth
		begun, jumps := 0, 0
		for over := false; !over; {
			switch draw.IntN(16) {
			case 0: // the server was away
				away := time.Duration(draw.IntN(300)) * time.Minute
				now, passed = now.Add(away), passed+away
				from = now
			case 1:
				campaign.State = model.CampaignPaused
			case 2, 3:
				campaign.State = model.CampaignActive
			case 4, 5, 6:
				so.under = 0
			case 7: // summer time that the clock itself follows, or a clock that is set
				now = now.Add(time.Duration(draw.IntN(3)-1) * time.Hour)
				jumps++
			}
			do := decide(campaign, so, since{from, noServer}, now, times)
			over = do.over
			if do.begin != nil {
				if so.under != 0 {
					t.Fatalf("seed %d: repetition %d begins while %d is under way", seed, do.begin.Number, so.under)
				}
				if late := now.Sub(do.begin.Due); late < 0 || late >= times.gap {
					t.Fatalf("seed %d: repetition %d begins %v late", seed, do.begin.Number, late)
				}
				all = append(all, *do.begin)
				so.under = do.begin.Number
				begun++
			}
			all = append(all, do.record...)
			so.last = len(all)
			if do.begin == nil && do.record == nil {
				step := time.Duration(1+draw.IntN(20)) * time.Minute
				now, passed = now.Add(step), passed+step
			}
			if most := int(passed/times.gap) + 1 + jumps; begun > most {
				t.Fatalf("seed %d: %d repetitions began in %v, %v apart, with %d jumps of the clock", seed, begun, passed, times.gap, jumps)
			}
		}
		for i, rep := range all {
			if due, _ := times.At(i + 1); rep.Number != i+1 || !rep.Due.Equal(due) {
				t.Fatalf("seed %d: record %d is of number %d, due %v", seed, i+1, rep.Number, rep.Due)
			}
		}
		if len(all) != times.n {
			t.Fatalf("seed %d: %d of %d times were recorded", seed, len(all), times.n)
		}
	}
}
