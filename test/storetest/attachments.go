package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// testArtifacts stores parts out of order, repeated and cut in other ways.
func testArtifacts(t *testing.T, e env) {
	f := New(1, 2, 1)
	e.start(t, f)
	task := f.Steps[0].Tasks[0].ID
	put := func(name string, offset int64, data string) {
		t.Helper()
		must(t, e.s.PutArtifactChunk(e.ctx, task, 1, name, offset, []byte(data)))
	}
	want := func(name, content string) {
		t.Helper()
		got, err := e.s.Artifact(e.ctx, task, 1, name)
		if string(got) != content || err != nil {
			t.Errorf("Artifact(%q) = %q, %v, want %q", name, got, err, content)
		}
	}
	missing := func(attempt int, name string) {
		t.Helper()
		if got, err := e.s.Artifact(e.ctx, task, attempt, name); got != nil || !errors.Is(err, model.ErrNotFound) {
			t.Errorf("Artifact(%d, %q) = %q, %v, want model.ErrNotFound", attempt, name, got, err)
		}
	}
	put("stdout", 6, "world")
	missing(1, "stdout") // its beginning has not arrived
	put("stdout", 6, "world")
	put("stdout", 0, "hello ")
	put("stdout", 6, "world")
	want("stdout", "hello world")
	put("stdout", 0, "hel") // a shorter part changes nothing
	want("stdout", "hello world")
	put("stdout", 3, "lo world!") // another cut of the same file, further on
	want("stdout", "hello world!")
	put("empty", 0, "")
	want("empty", "")
	missing(2, "stdout")
	missing(1, "stderr")
	if err := e.s.PutArtifactChunk(e.ctx, task, 1, "x", -1, nil); !errors.Is(err, model.ErrInvalid) {
		t.Errorf("negative offset: %v, want model.ErrInvalid", err)
	}
	testBigArtifact(t, e, f)
	testClosedArtifacts(t, e, f)
	var listed []string
	for _, a := range e.data(t, e.s, f.Run.ID).Artifacts {
		listed = append(listed, fmt.Sprintf("%s#%d %s %d", a.Task, a.Attempt, a.Name, a.Size))
	}
	diff(t, "artifacts", []string{
		fmt.Sprintf("%s#1 empty 0", task), fmt.Sprintf("%s#1 stdout 12", task),
		fmt.Sprintf("%s#1 big 3000000", f.Steps[0].Tasks[1].ID),
	}, listed)
	alone, err := e.s.Artifacts(e.ctx, f.Run.ID)
	must(t, err)
	diff(t, "artifacts alone", e.data(t, e.s, f.Run.ID).Artifacts, alone)
}

// testClosedArtifacts: nothing is added to an attempt that has its result, that
// is over, or that has not begun.
func testClosedArtifacts(t *testing.T, e env, f Fixture) {
	r := f.Results()[1]
	stale := func(attempt int, when string) {
		t.Helper()
		err := e.s.PutArtifactChunk(e.ctx, r.Task, attempt, "big", 0, []byte("more"))
		if !errors.Is(err, model.ErrStale) {
			t.Errorf("a part %s: %v, want model.ErrStale", when, err)
		}
	}
	stale(2, "of an attempt that has not begun")
	e.put(t, r)
	stale(1, "after the result")
	_, err := e.s.BeginAttempt(e.ctx, r.Step)
	must(t, err)
	stale(1, "of an attempt that is over")
}

// testBigArtifact delivers parts of a large file from many goroutines, each
// twice.
func testBigArtifact(t *testing.T, e env, f Fixture) {
	content := make([]byte, 3_000_000)
	for i := range content {
		content[i] = byte(i * i >> 8)
	}
	const part = 250_000
	var wg sync.WaitGroup
	for i := range 2 * len(content) / part {
		offset := i * 7 * part % len(content)
		wg.Go(func() {
			err := e.s.PutArtifactChunk(e.ctx, f.Steps[0].Tasks[1].ID, 1, "big", int64(offset), content[offset:offset+part])
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := e.s.Artifact(e.ctx, f.Steps[0].Tasks[1].ID, 1, "big")
	if err != nil || string(got) != string(content) {
		t.Errorf("big artifact: %d bytes, %v; want the %d that were stored", len(got), err, len(content))
	}
}

func testEvents(t *testing.T, e env) {
	f, other := New(1, 1, 1), New(2, 1, 1)
	e.start(t, f)
	e.start(t, other)
	event := func(text string) model.Event {
		return model.Event{Time: epoch, Run: f.Run.ID, Kind: model.EventTaskEnded, Severity: model.Info, Text: text}
	}
	live := event("live")
	live.Kind, live.Progress = model.EventProgress, &model.Progress{Metric: "m", Value: 1}
	fleet := event("somebody joined")
	fleet.Run = ""
	must(t, e.s.AddEvents(e.ctx))
	must(t, e.s.AddEvents(e.ctx, event("1"), live, event("2"), fleet))
	must(t, e.s.AddEvents(e.ctx, event("3")))

	// All of a call, or none.
	nowhere := event("lost")
	nowhere.Run = "01NOWHERE"
	if err := e.s.AddEvents(e.ctx, event("4"), nowhere); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("event of no run: %v, want model.ErrNotFound", err)
	}
	diff(t, "events", []model.Event{event("1"), event("2"), event("3")}, e.data(t, e.s, f.Run.ID).Events)
	diff(t, "events of another run", []model.Event(nil), e.data(t, e.s, other.Run.ID).Events)
}
