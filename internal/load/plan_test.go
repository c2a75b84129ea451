package load_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

func TestPlanCheck(t *testing.T) {
	users := func(n int, think, d time.Duration) load.Plan {
		return load.Plan{Closed: &load.Closed{Users: n, Think: think, Duration: d}}
	}
	both := users(1, 0, time.Second)
	both.Stages = []load.Stage{load.Hold(1, time.Second)}
	for name, c := range map[string]struct {
		plan load.Plan
		ok   bool
	}{
		"constant":        {constant(load.Hold(1, 1)), true},
		"poisson":         {poisson(1, load.Hold(1e9, time.Hour)), true},
		"pause":           {constant(load.Hold(0, time.Second)), true},
		"users":           {users(1, 0, 1), true},
		"thinking users":  {users(1000, time.Hour, time.Second), true},
		"nothing":         {load.Plan{}, false},
		"no stage":        {constant(), false},
		"arrivals":        {load.Plan{Arrivals: "uniform", Stages: []load.Stage{load.Hold(1, 1)}}, false},
		"no time":         {constant(load.Hold(1, 0)), false},
		"negative":        {constant(load.Hold(-1, time.Second)), false},
		"too much":        {constant(load.Hold(1.1e9, time.Second)), false},
		"not a number":    {constant(load.Hold(math.NaN(), 1)), false},
		"second is wrong": {constant(load.Hold(1, 1), load.Hold(1, -1)), false},
		"no users":        {users(0, 0, time.Second), false},
		"no duration":     {users(1, 0, 0), false},
		"a number":        {load.Plan{Closed: &load.Closed{Users: 1, Count: 1}}, true},
		"negative number": {load.Plan{Closed: &load.Closed{Users: 1, Duration: 1, Count: -1}}, false},
		"negative think":  {users(1, -1, time.Second), false},
		"both":            {both, false},
	} {
		if err := c.plan.Check(); (err == nil) != c.ok || (err != nil && !errors.Is(err, model.ErrUsage)) {
			t.Errorf("%s: Check() = %v, want ok = %v", name, err, c.ok)
		}
	}
}

func TestPlanDuration(t *testing.T) {
	if got := constant(load.Hold(1, time.Second), load.Hold(0, time.Minute)).Duration(); got != 61*time.Second {
		t.Errorf("Duration() of stages = %v, want 1m1s", got)
	}
	if got := (load.Plan{Closed: &load.Closed{Users: 1, Duration: time.Hour}}).Duration(); got != time.Hour {
		t.Errorf("Duration() of a closed loop = %v, want 1h", got)
	}
}

func TestRunCheck(t *testing.T) {
	good := load.Run{Plan: constant(load.Hold(1, 1)), Share: load.All, Each: func(load.Second) {}}
	with := func(change func(*load.Run)) load.Run {
		r := good
		change(&r)
		return r
	}
	for name, c := range map[string]struct {
		run load.Run
		ok  bool
	}{
		"good":           {good, true},
		"drain":          {with(func(r *load.Run) { r.Drain = time.Minute }), true},
		"no share":       {with(func(r *load.Run) { r.Share = load.Share{} }), false},
		"outside":        {with(func(r *load.Run) { r.Share = load.Share{Index: 2, Of: 2} }), false},
		"negative share": {with(func(r *load.Run) { r.Share.Index = -1 }), false},
		"negative drain": {with(func(r *load.Run) { r.Drain = -1 }), false},
		"endless drain":  {with(func(r *load.Run) { r.Drain = math.MaxInt64 }), false},
		"no sink":        {with(func(r *load.Run) { r.Each = nil }), false},
		"bad plan":       {with(func(r *load.Run) { r.Plan = load.Plan{} }), false},
	} {
		if err := c.run.Check(); (err == nil) != c.ok || (err != nil && !errors.Is(err, model.ErrUsage)) {
			t.Errorf("%s: Check() = %v, want ok = %v", name, err, c.ok)
		}
	}
}
