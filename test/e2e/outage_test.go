package e2e_test

import (
	"testing"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/servers/pgtest"
)

// TestPostgresOutage kills PostgreSQL in mid-run. No result is acknowledged
// while it is away, the user is told, and when it is back the run goes on to
// the same end as without the outage.
func TestPostgresOutage(t *testing.T) {
	t.Parallel()
	pg := pgtest.Start(t)
	w := install(t, "-v", "--store", pg.Database())
	w.StartServer()
	for _, n := range []string{"n1", "n2", "n3"} {
		w.StartAgent(n)
	}
	file := w.Write("chaos.yaml", chaosExperiment)
	follower := w.Start("run", file)
	w.AwaitRun("newest", "begun", func(d model.RunData) bool { return len(d.Results) >= 2 })
	pg.Kill()
	follower.Await(t, "the store fails")
	pg.Restart()
	follower.Await(t, "the store works again")
	<-follower.Ended
	d := w.Data("latest")
	program.CheckComplete(t, d)
	for _, s := range d.Steps {
		if s.Attempt != 1 {
			t.Errorf("step %s took %d attempts; an outage of the store must not cost a trial", s.ID, s.Attempt)
		}
	}
}

// TestStopDuringOutage: a server that is told to stop while its store is away
// does so in time, and the run goes on from there when both are back.
func TestStopDuringOutage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes half a minute; make test does it")
	}
	pg := pgtest.Start(t)
	w := install(t, "--store", pg.Database())
	w.StartServer()
	for _, n := range []string{"n1", "n2", "n3"} {
		w.StartAgent(n)
	}
	follower := w.Start("run", w.Write("chaos.yaml", chaosExperiment))
	d := w.AwaitRun("newest", "begun", func(d model.RunData) bool { return len(d.Results) >= 2 })
	pg.Kill()
	follower.Await(t, "the store fails")
	w.Server.Leave(t)
	follower.Kill()
	pg.Restart()
	w.StartServer()
	w.Run("resume", string(d.Run.ID))
	program.CheckComplete(t, w.Data("latest"))
}
