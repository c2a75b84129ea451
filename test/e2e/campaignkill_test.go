package e2e_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	campaigns "github.com/scalebench/scalebench/internal/campaign"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store/sqlite"
	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/servers"
)

// checkSchedule fails unless each time of the schedule that has come is recorded
// once, when it was due, and no two runs are of one repetition.
func checkSchedule(t testing.TB, s campaigns.Status, every time.Duration) {
	t.Helper()
	runs := make(map[model.RunID]bool)
	for i, r := range s.Repetitions {
		if want := s.Begin.Add(time.Duration(i) * every); r.Number != i+1 || !r.Due.Equal(want) {
			t.Errorf("record %d is number %d, due %v; want it due %v", i+1, r.Number, r.Due, want)
		}
		if r.State == model.RepetitionRun && runs[r.Run] {
			t.Errorf("run %s is two repetitions", r.Run)
		}
		runs[r.Run] = true
	}
	if len(s.Repetitions) != s.Progress.Last {
		t.Errorf("%d repetitions are listed, the last is number %d", len(s.Repetitions), s.Progress.Last)
	}
}

// TestCampaignKilledOften kills the server, or asks it to end, at random moments
// of a campaign. Whenever that is, each time of the schedule is recorded once, and
// a repetition that was cut is complete in the end.
func TestCampaignKilledOften(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs some seconds")
	}
	kills := rounds(5)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	w := install(t)
	w.StartServer()
	id := strings.TrimSpace(w.Run("run", w.Write("c.yaml", `name: chaos
fleet: {local: {nodes: 2}}
schedule: {every: 1s, for: 1d}
workloads: [{kind: cpu, threads: 1, duration: 200ms}]
evaluations: [serial, parallel]
retries: {lost: 20}
`), "--detach"))
	for range kills {
		time.Sleep(time.Duration(rnd.IntN(1500)) * time.Millisecond) //nolint:forbidigo // the random moment
		if rnd.IntN(3) == 0 {
			w.Server.Leave(t)
		} else {
			w.Server.Kill()
		}
		w.StartServer()
	}
	w.Run("campaign", "stop", id)
	w.Poll("the end of the last repetition", func() bool {
		s := w.campaign(id)
		return s.Progress.Measured == s.Progress.States[model.RepetitionRun]
	})
	s := w.campaign(id)
	checkSchedule(t, s, time.Second)
	for _, r := range s.Repetitions {
		if r.State == model.RepetitionRun && r.Number < s.Progress.Last { // of the last one its server may not know any more
			program.CheckComplete(t, w.Data(string(r.Run)))
		}
	}
	if s.Progress.Runs[model.RunDone] == 0 {
		t.Errorf("no repetition ran: %+v", s.Progress)
	}
}

// TestCampaignTakenOver: of two servers that share a store one is killed in the
// middle of a repetition, and gone for good. The other takes the campaign over. As
// long as the first one may live it waits for that repetition; then it goes on with
// it, and with the campaign. What else the first one left can be cancelled and
// deleted.
func TestCampaignTakenOver(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs some seconds")
	}
	a, b := install(t), install(t)
	shared := "SCALEBENCH_STORE=sqlite://" + filepath.Join(a.Dir, "shared.db")
	a.Extra, b.Extra = []string{shared}, []string{shared}
	b.Listen = servers.FreeAddress(t)
	a.StartServer()
	id := strings.TrimSpace(a.Run("run", a.Write("c.yaml", `name: shared
fleet: {local: {nodes: 1}}
schedule: {every: 1s, for: 1d}
workloads: [{kind: command, command: "sleep $(cat `+filepath.Join(a.Dir, "seconds")+`)"}]
evaluations: [serial]
`), "--detach"))
	a.Write("seconds", "600")
	a.Poll("a repetition", func() bool {
		s := a.campaign(id)
		return s.Latest != nil && s.Latest.RunState == model.RunRunning
	})
	waits := strings.TrimSpace(a.Run("run",
		a.Write("waits.yaml", "fleet: {local: {nodes: 1}}\nworkloads: [{kind: command, command: \"true\"}]\n"), "--detach"))
	key := a.campaign(id).Server
	a.Server.Kill()
	a.Server = nil
	program.AwaitNobody(t, a.Dir)
	a.Write("seconds", "0.1")
	b.StartServer()
	b.Run("campaign", "resume", id, "--detach")
	b.Poll("a time that is skipped", func() bool {
		s := b.campaign(id)
		return strings.HasSuffix(s.Repetitions[len(s.Repetitions)-1].Reason, "had not ended: another server is at it")
	})
	for _, command := range [][]string{{"cancel", waits}, {"delete", waits, "--yes"}} {
		if _, said, err := b.Try(command...); err == nil || !strings.Contains(said, "on another server") {
			t.Errorf("%s of a run of a server that may live: %v, %s", command, err, said)
		}
	}
	st, err := sqlite.Open(t.Context(), filepath.Join(a.Dir, "shared.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(st.Leave(t.Context(), key), st.Close()); err != nil { // as after a minute
		t.Fatal(err)
	}
	b.Poll("repetitions at the other server", func() bool { return b.campaign(id).Progress.Runs[model.RunDone] >= 2 })
	b.Run("campaign", "stop", id)
	s := b.campaign(id)
	checkSchedule(t, s, time.Second)
	program.CheckComplete(t, b.Data(string(s.Repetitions[0].Run)))
	b.Run("cancel", waits)
	b.Run("delete", waits, "--yes")
}

// TestCampaignLeftAlone: a command that brings its own server does what it was
// asked to, and does not begin with a campaign that another command has left.
func TestCampaignLeftAlone(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs some seconds")
	}
	w := install(t)
	p := w.Start("run", w.Write("c.yaml", `name: left
fleet: {local: {nodes: 1}}
schedule: {every: 2s, for: 1d}
workloads: [{kind: command, command: sleep 1}]
evaluations: [serial]
`))
	p.Await(t, "running, run")
	_ = p.Cmd.Process.Signal(syscall.SIGINT)
	<-p.Ended
	before := w.campaign("left")
	if before.Latest == nil || before.Latest.RunState != model.RunInterrupted {
		t.Fatalf("the repetition that was cut is %+v", before.Latest)
	}
	w.Run("run", w.Write("other.yaml",
		"fleet: {local: {nodes: 1}}\nworkloads: [{kind: command, command: sleep 2}]\nevaluations: [serial]\n"))
	if after := w.campaign("left"); after.Progress.Last != before.Progress.Last || after.Latest.RunState != model.RunInterrupted {
		t.Errorf("another run took the campaign up: %+v", after.Progress)
	}
	w.Run("resume", string(before.Latest.Run)) // by hand: no other is faster
	program.CheckComplete(t, w.Data(string(before.Latest.Run)))
	w.Run("campaign", "stop", "left")
}

// TestCampaignStatusOfFailures: a campaign of which no repetition did what it was
// to do says so, with an exit code; and one with a file that cannot be read hides
// no other.
func TestCampaignStatusOfFailures(t *testing.T) {
	t.Parallel()
	w := install(t)
	_, said, err := w.Try("run", w.Write("bad.yaml", `fleet: {local: {nodes: 1}}
schedule: {every: 1s, repetitions: 1}
workloads: [{kind: command, command: exit 3}]
evaluations: [serial]
`))
	if err == nil || !strings.Contains(said, "no repetition of campaign") {
		t.Errorf("a campaign without a good repetition: %v\n%s", err, said)
	}
	if out := w.Run("campaign", "status", "bad"); !strings.Contains(out,
		"1 of 1 repetition ran; 1 run did not end as intended.") || !strings.Contains(out, "None: ") {
		t.Errorf("its status:\n%s", out)
	}
	st, err := sqlite.Open(t.Context(), filepath.Join(w.Dir, "server", "scalebench.db"))
	if err != nil {
		t.Fatal(err)
	}
	strange := model.Campaign{ID: "01KB0000000000000000000000", Name: "strange", State: model.CampaignActive, SourceName: "s.yaml",
		Source: "fleet: {moon: 1}\n", Created: time.Now(), Begin: time.Now(), Server: w.campaign("bad").Server}
	if err := st.PutCampaign(t.Context(), strange); err != nil {
		t.Fatal(err)
	}
	var missed []model.Repetition
	for number := range campaigns.MostRepetitions + 5 {
		missed = append(missed, model.Repetition{Campaign: strange.ID, Number: number + 1, Due: strange.Begin.Add(time.Duration(number) * time.Hour), State: model.RepetitionMissed})
	}
	if _, err := st.AddRepetition(t.Context(), missed...); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	w.StartServer()
	if s := w.campaign("strange"); len(s.Repetitions) != len(missed) || s.Repetitions[len(missed)-1].Number != len(missed) {
		t.Errorf("%d of %d repetitions are listed", len(s.Repetitions), len(missed))
	}
	if out := w.Run("campaign", "list"); !strings.Contains(out, "bad") || !strings.Contains(out, "not known: ") {
		t.Errorf("the list with a file that cannot be read:\n%s", out)
	}
	w.Run("campaign", "status", "strange")
	w.Run("campaign", "stop", "strange")
	w.Run("campaign", "delete", "strange")
	if log := w.Server.Log(); strings.Count(log, "msg=campaign") > 1 {
		t.Errorf("the server says again and again:\n%s", log)
	}
}

// TestCampaignDeleteUnderWay: runs that are under way are not deleted.
func TestCampaignDeleteUnderWay(t *testing.T) {
	t.Parallel()
	w := install(t)
	w.StartServer()
	id := strings.TrimSpace(w.Run("run", w.Write("c.yaml", `fleet: {local: {nodes: 1}}
schedule: {every: 10m, for: 1d}
workloads: [{kind: command, command: sleep 600}]
evaluations: [serial]
`), "--detach"))
	w.Poll("a repetition",
		func() bool { s := w.campaign(id); return s.Latest != nil && s.Latest.RunState == model.RunRunning })
	w.Run("campaign", "stop", id)
	run := string(w.campaign(id).Latest.Run)
	if _, said, err := w.Try("campaign", "delete", id, "--runs", "--yes"); err == nil ||
		!strings.Contains(said, "scalebench cancel "+run) {
		t.Errorf("delete --runs in a repetition: %v, %q", err, said)
	}
	w.Run("cancel", run)
	w.Run("campaign", "delete", id, "--runs", "--yes")
	var none []model.Run
	if err := json.Unmarshal([]byte(w.Run("runs", "--repetitions", "--format", "json")), &none); err != nil ||
		len(none) > 0 {
		t.Errorf("left after delete --runs: %v, %v", none, err)
	}
}

// TestCampaignFollowed: a command that follows a campaign outlasts a restart of
// the server.
func TestCampaignFollowed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs some seconds")
	}
	w := install(t)
	w.StartServer()
	p := w.Start("run", w.Write("c.yaml", `fleet: {local: {nodes: 1}}
schedule: {every: 2s, repetitions: 5}
workloads: [{kind: command, command: sleep 0.2}]
evaluations: [serial]
`))
	p.Await(t, "repetition 1, ")
	w.Server.Kill()
	p.Await(t, "the server does not answer")
	w.StartServer()
	p.Await(t, "repetition 5, ")
	<-p.Ended
	if code := p.Cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, p.Log())
	}
}
