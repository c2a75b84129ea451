package master

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/answer"
	"github.com/scalebench/scalebench/internal/model"
)

// TestAnalyse: what is said of a run that is over goes on record as a stage with its
// times, also where no study has an answer; of one that goes on, or is to be resumed, it
// is not the end.
func TestAnalyse(t *testing.T) {
	for state, want := range map[model.RunState]string{
		model.RunRunning: "", model.RunInterrupted: "", model.RunDone: "analysed by capacity", model.RunIncomplete: "analysed by capacity",
	} {
		s := newSearches(t)
		for range 3 {
			s.measure(s.plan())
		}
		if got := s.analysis(state, nil); got != want {
			t.Errorf("%s: it says %q, want %q", state, got, want)
		}
	}
	s := newSearches(t)
	if got := s.analysis(model.RunDone, model.ErrUsage); got == "" {
		t.Error("an analysis that failed is not on record")
	}
	if run, err := s.x.Run(t.Context(), "latest"); err != nil || run.State != model.RunDone {
		t.Errorf("the run is %s, %v, want it kept", run.State, err)
	}
}

// analysis ends the run and asks what was found; it returns what went on record of that.
func (s *searches) analysis(state model.RunState, want error) string {
	s.tb.Helper()
	ctx, m := context.Background(), s.x.Master
	if err := m.store.SetRunState(ctx, s.x.run.ID, state, "", time.Now()); err != nil {
		s.tb.Fatal(err)
	}
	m.ev.unstored = nil
	before := time.Now()
	var params answer.Params
	if want != nil {
		params = answer.Params{"unheard": {"of": nil}} // no study has such a threshold
	}
	if _, err := m.Findings(ctx, string(s.x.run.ID), params); !errors.Is(err, want) {
		s.tb.Fatalf("Findings: %v, want %v", err, want)
	}
	told := m.ev.unstored
	if len(told) == 0 {
		return ""
	}
	if len(told) != 2 || told[0].Kind != model.EventAnalysisStarted || told[1].Kind != model.EventAnalysisEnded || told[0].Time.Before(before) || told[1].Time.Before(told[0].Time) ||
		told[0].Run != s.x.run.ID || told[1].Run != s.x.run.ID || (told[1].Severity == model.Warning) != (want != nil) {
		s.tb.Errorf("events %+v, want the beginning and the end", told)
	}
	return told[1].Text
}
