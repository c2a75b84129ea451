package runner

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

// TestStages: stages have their times, before and after the start of the task;
// what was cut short has ended.
func TestStages(t *testing.T) {
	at := func(ms int64, name, service, state, reason string) stageReport {
		return stageReport{model.StageChange{Name: name, Service: service, State: state, Reason: reason}, ms * 1e6}
	}
	reports := []stageReport{
		at(1000, "start", "db", model.StageBegun, ""), at(1100, "start", "web", model.StageBegun, ""),
		at(1500, "start", "db", model.StageDone, "warm"), at(2300, "limit", "db", model.StageDone, "cpu 0.4 cores"),
		at(2400, "start", "web", model.StageFailed, "why"), at(2500, "run", "db", model.StageBegun, ""),
	}
	ms := func(n int64) int64 { return n * 1e6 }
	want := []model.Stage{
		{Name: "start", Service: "db", Started: ms(-1000), Ended: ms(-500), Note: "warm"},
		{Name: "start", Service: "web", Started: ms(-900), Ended: ms(400), Error: "why"},
		{Name: "limit", Service: "db", Started: ms(300), Ended: ms(300), Note: "cpu 0.4 cores"},
		{Name: "run", Service: "db", Started: ms(500), Ended: ms(1000), Error: "cut short"},
	}
	if diff := cmp.Diff(want, stages(reports, time.UnixMilli(2000), time.UnixMilli(3000))); diff != "" {
		t.Errorf("stages (-want +got):\n%s", diff)
	}
	if first := stages(reports, time.Time{}, time.UnixMilli(3000))[0]; first.Started != 0 || first.Ended != ms(500) {
		t.Errorf("of a task that never started: %+v, want times since the first stage", first)
	}
}

// TestStageReport: the name of a stage has its service.
func TestStageReport(t *testing.T) {
	var pipe bytes.Buffer
	newReporter(&lineWriter{w: &pipe}).Stage("db:start", model.StageBegun, "")
	var got report
	if err := newLineReader(&pipe).next(&got); err != nil || got.Stage == nil {
		t.Fatal(err, got)
	}
	if want := (model.StageChange{Name: "start", Service: "db", State: model.StageBegun}); got.Stage.StageChange != want {
		t.Errorf("stage = %+v, want %+v", got.Stage.StageChange, want)
	}
}

// TestKept: what a task keeps is moved to the artifacts, cut to their limit;
// links and names that nothing can have are left.
func TestKept(t *testing.T) {
	dir := t.TempDir()
	p := &Process{cfg: Config{ArtifactDir: filepath.Join(dir, "artifacts"), Spec: model.Spec{ArtifactLimit: 4}}, dir: filepath.Join(dir, "task")}
	for _, d := range []string{p.cfg.ArtifactDir, p.dir + ".keep"} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"a.log": "abc", "b.log": "abcdef", ".hidden": "x", "stdout": "x"} {
		if err := os.WriteFile(filepath.Join(p.dir+".keep", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(p.dir+".keep", "link")); err != nil {
		t.Fatal(err)
	}
	p.takeKept()
	if diff := cmp.Diff([]model.KeptFile{{Name: "a.log", Size: 3}, {Name: "b.log", Size: 4, Cut: true}}, p.outcome.Kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{"a.log": "abc", "b.log": "abcd"} {
		if got, err := os.ReadFile(p.outcome.KeptFiles[name]); string(got) != want || err != nil {
			t.Errorf("%s holds %q, %v; want %q", name, got, err, want)
		}
	}
}
