package evaluation

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"
	"fmt"
	"strings"

	"github.com/scalebench/scalebench/internal/analysis"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

func TestSameAsBefore(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var data []model.RunData
	for i := range 300 {
		var d model.RunData
		if i%2 == 0 {
			d = noisyRun(rng, 1+rng.IntN(9), 1+rng.IntN(4), rng.Float64()*.1, .3+rng.Float64(), .05*rng.Float64())
		} else {
			c := sweepCase{fleet: 3 + rng.IntN(8), trials: 1 + rng.IntN(3), spread: .05, noise: .02, groups: rng.IntN(3), total: fleetCap(float64(200 + rng.IntN(1500)))}
			for s := 2; s < c.fleet; s += 1 + rng.IntN(2) {
				c.sizes = append(c.sizes, s)
			}
			d = c.run(rng).data
		}
		// mutate
		for range rng.IntN(5) {
			k := rng.IntN(len(d.Results))
			switch rng.IntN(8) {
			case 0:
				d.Results[k].Outcome = model.OutcomeFailed
			case 1:
				d.Results[k].Samples = nil
			case 2:
				d.Results[k].Series = nil
			case 3:
				s := rng.IntN(len(d.Steps))
				d.Steps[s].State = model.StepInvalid
				d.Steps[s].Reason = "why"
			case 4:
				d.Events = append(d.Events, model.Event{Kind: model.EventNodeChanged, Node: nodeName(rng.IntN(3)), Time: epoch.Add(time.Duration(rng.IntN(30)) * time.Hour), Text: "other"})
			case 5:
				d.Results[k].Ended = d.Results[k].Ended.Add(time.Second * time.Duration(rng.IntN(9)))
			case 6:
				d.Run.State = model.RunInterrupted
			case 7:
				s := rng.IntN(len(d.Steps))
				for j := range d.Steps[s].Tasks {
					d.Steps[s].Tasks[j].Spec.Subject = fmt.Sprintf("p%d", j/2)
				}
			}
		}
		if i%5 == 0 { // pairs everywhere
			for s := range d.Steps {
				for j := range d.Steps[s].Tasks {
					n := d.Steps[s].Tasks[j].Node
					d.Steps[s].Tasks[j].Spec.Subject = "p" + string(n[:2])
				}
			}
		}
		data = append(data, d)
	}
	for i, d := range data {
		opt := Options{Resamples: 300}
		old, err1 := analysis.CDI(d, analysis.Options{Resamples: 300})
		now, err2 := Findings(observe.Of(d), opt)
		same(t, fmt.Sprint("cdi ", i), old, now, err1, err2)
		oldS, err1 := analysis.Scaling(d, analysis.Options{Resamples: 300})
		nowS, err2 := Scalings(observe.Of(d), opt)
		same(t, fmt.Sprint("scaling ", i), oldS, nowS, err1, err2)
	}
}

func same(t *testing.T, what string, old, now any, e1, e2 error) {
	t.Helper()
	if fmt.Sprint(e1) != fmt.Sprint(e2) {
		t.Fatalf("%s: %v / %v", what, e1, e2)
	}
	a, x := json.MarshalIndent(old, "", " ")
	b, y := json.MarshalIndent(now, "", " ")
	if x != nil || y != nil || !bytes.Equal(a, b) {
		t.Errorf("%s differs %v %v", what, x, y)
		la, lb := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
		for i := range la {
			if i < len(lb) && la[i] != lb[i] {
				t.Errorf("  %s\n  %s", la[i], lb[i])
			}
		}
		t.FailNow()
	}
}
