package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	campaigns "github.com/scalebench/scalebench/internal/campaign"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/program"
)

func (w *installation) campaign(id string) (s campaigns.Status) {
	w.T.Helper()
	if err := json.Unmarshal([]byte(w.Run("campaign", "status", id, "--format", "json")), &s); err != nil {
		w.T.Fatal(err)
	}
	return s
}

// TestCampaignSurvives: a server that is killed in a repetition and between two
// neither loses nor doubles one, and keeps the schedule; times without a server
// are counted as missed.
func TestCampaignSurvives(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs some seconds")
	}
	w := install(t)
	w.StartServer()
	file := w.Write("c.yaml", `name: nightly
fleet: {local: {nodes: 1}}
schedule: {every: 4s, repetitions: 7}
workloads: [{name: burn, kind: cpu, threads: 1, duration: 500ms}]
evaluations: [parallel]
trials: 1
`)
	id := strings.TrimSpace(w.Run("run", file, "--detach"))
	under := func(s campaigns.Status) bool {
		return s.Latest != nil && s.Latest.RunState == model.RunRunning && !s.Latest.Started.IsZero()
	}
	between := func(s campaigns.Status) bool {
		return s.Latest != nil && s.Latest.RunState.Final() && time.Until(s.Next) > time.Second
	}
	for _, at := range []func(campaigns.Status) bool{under, between} {
		w.Poll("the moment to kill the server", func() bool { return at(w.campaign(id)) })
		w.Server.Kill()
		w.StartServer()
	}
	w.Poll("a moment between two repetitions", func() bool { return between(w.campaign(id)) })
	w.Server.Kill()
	gap := w.campaign(id) // as the store alone tells
	if gap.Latest == nil || !gap.Latest.RunState.Final() {
		t.Errorf("without a server the latest repetition is %+v, want one that is over", gap.Latest)
	}
	time.Sleep(time.Until(gap.Next.Add(2 * time.Second))) //nolint:forbidigo // a time of the schedule has to pass
	w.StartServer()
	w.Poll("the end of the campaign", func() bool { return w.campaign(id).State == model.CampaignDone })
	s := w.campaign(id)
	if len(s.Repetitions) != 7 || s.Progress.Last != 7 {
		t.Fatalf("%d repetitions are recorded, want 7", len(s.Repetitions))
	}
	runs := make(map[model.RunID]bool)
	for i, r := range s.Repetitions {
		if want := s.Begin.Add(time.Duration(i) * 4 * time.Second); r.Number != i+1 || !r.Due.Equal(want) {
			t.Errorf("repetition %d is number %d, due %v; want %v", i+1, r.Number, r.Due, want)
		}
		if r.State != model.RepetitionRun {
			continue
		}
		if runs[r.Run] || !r.Measured {
			t.Errorf("repetition %d: run %s twice, or not condensed (%v)", r.Number, r.Run, r.Measured)
		}
		runs[r.Run] = true
		program.CheckComplete(t, w.Data(string(r.Run)))
	}
	if r := s.Repetitions[gap.Progress.Last]; r.State != model.RepetitionMissed || r.Reason != "no server was there" {
		t.Errorf("the time without a server is %+v, want a missed one", r)
	}
	if len(runs) < 4 {
		t.Errorf("%d of 7 repetitions ran: %+v", len(runs), s.Repetitions)
	}
	if out := w.Run("runs"); !strings.Contains(out, "No runs yet") {
		t.Errorf("repetitions hide what else ran:\n%s", out)
	}
}

// TestCampaignCommands: a campaign is paused, resumed, extended, stopped and
// deleted, with a server and without; what overruns is skipped.
func TestCampaignCommands(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs some seconds")
	}
	w := install(t)
	w.StartServer()
	file := w.Write("slow.yaml", `fleet: {local: {nodes: 1}}
schedule: {every: 1s, for: 1d}
workloads: [{name: burn, kind: cpu, threads: 1, duration: 1500ms}]
evaluations: [parallel]
`)
	id := strings.TrimSpace(w.Run("run", file, "--detach"))
	w.Poll("a repetition that is skipped",
		func() bool { return w.campaign(id).Progress.States[model.RepetitionSkipped] > 0 })
	if r := w.campaign(id).Repetitions[1]; r.State != model.RepetitionSkipped || r.Reason != "repetition 1 had not ended" {
		t.Errorf("repetition 2 is %+v, want it skipped", r)
	}
	w.Run("campaign", "pause", "slow")
	w.Poll("a time while it is paused", func() bool { return w.campaign(id).Progress.States[model.RepetitionPaused] > 0 })
	paused := w.campaign(id)
	w.Run("campaign", "resume", id, "--detach")
	w.Poll("a repetition after the pause", func() bool {
		s := w.campaign(id)
		return s.Latest != nil && s.Latest.Number > paused.Progress.Last
	})
	w.Run("campaign", "extend", id, "--for", "7d")
	if got := w.campaign(id).End.Sub(paused.End); got != 7*24*time.Hour {
		t.Errorf("extended by 7d, the end moved by %v", got)
	}
	if _, said, err := w.Try("campaign", "delete", id); err == nil || !strings.Contains(said, "stop it first") {
		t.Errorf("delete of an active campaign: %v, %q", err, said)
	}
	w.Server.Leave(t)
	w.Server = nil
	w.Run("campaign", "stop", "latest")
	if s := w.campaign(id); s.State != model.CampaignStopped || !s.Next.IsZero() {
		t.Errorf("after stop it is %s, next at %v", s.State, s.Next)
	}
	if _, said, err := w.Try("campaign", "resume", id); err == nil || !strings.Contains(said, "was stopped") {
		t.Errorf("resume of a stopped campaign: %v, %q", err, said)
	}
	if _, said, err := w.Try("campaign", "delete", id, "--runs"); err == nil || !strings.Contains(said, "with its") ||
		w.campaign(id).ID == "" {
		t.Errorf("delete --runs without an answer: %v, %q", err, said)
	}
	w.Run("campaign", "delete", id, "--runs", "--yes")
	if out := w.Run("runs", "--repetitions", "--format", "json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("runs are left after delete --runs: %s", out)
	}
}
