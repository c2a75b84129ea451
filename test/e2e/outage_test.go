package e2e_test

import (
	"testing"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/pgtest"
)

// TestPostgresOutage kills PostgreSQL in mid-run. No result is acknowledged
// while it is away, the user is told, and when it is back the run goes on to
// the same end as without the outage.
func TestPostgresOutage(t *testing.T) {
	t.Parallel()
	pg := pgtest.Start(t)
	w := newWorld(t, "-v", "--store", pg.Database())
	w.startServer()
	for _, n := range []string{"n1", "n2", "n3"} {
		w.startAgent(n)
	}
	file := w.write("chaos.yaml", chaosExperiment)
	follower := w.start("run", file)
	w.awaitRun("newest", "begun", func(d model.RunData) bool { return len(d.Results) >= 2 })
	pg.Kill()
	follower.await(t, "the store fails")
	pg.Restart()
	follower.await(t, "the store works again")
	<-follower.ended
	d := w.data("latest")
	checkComplete(t, d)
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
	w := newWorld(t, "--store", pg.Database())
	w.startServer()
	for _, n := range []string{"n1", "n2", "n3"} {
		w.startAgent(n)
	}
	follower := w.start("run", w.write("chaos.yaml", chaosExperiment))
	d := w.awaitRun("newest", "begun", func(d model.RunData) bool { return len(d.Results) >= 2 })
	pg.Kill()
	follower.await(t, "the store fails")
	w.server.leave(t)
	follower.kill()
	pg.Restart()
	w.startServer()
	w.run("resume", string(d.Run.ID))
	checkComplete(t, w.data("latest"))
}
