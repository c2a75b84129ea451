package master

import (
	"context"
	"fmt"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// artifacts are what is known of the artifacts of a run: for what there may be
// any, and how much is kept.
type artifacts struct {
	tasks map[model.TaskID]printing
	ends  map[artifact]int64 // where the last part ends
	total int64              // of the ends
	told  bool               // that the quota is used up
	read  time.Time          // when the tasks were read
}

// printing is who may deliver the output of a task, and how much of it.
type printing struct {
	node  model.NodeID
	limit int64
	keeps bool // files beside what it prints
}

type artifact struct {
	wire.Attempt
	name string
}

// runsKept is for how many runs artifacts are kept in mind: they come in many
// parts.
const runsKept = 64

// readAgain is how long the tasks of a run are not read again for the sake of one
// that is not among them.
const readAgain = time.Second

// Chunk stores a part of an artifact of the node's own task, where its limit,
// the run's quota, and the disk have room for it.
func (m *Master) Chunk(ctx context.Context, c wire.Chunk) error {
	if err := m.roomFor(); err != nil {
		return err
	}
	run, task, err := m.artifactsOf(ctx, c.Task)
	switch {
	case err != nil:
		return err
	case task.node != c.Node:
		return fmt.Errorf("%w: task %s does not belong to node %s", model.ErrNotFound, c.Task, c.Node)
	case !m.may(c, run, task), c.Offset%wire.MaxChunk != 0:
		return model.Usagef("task %s has no artifact %q with a part at %d", c.Task, c.Name, c.Offset)
	case c.Offset+int64(len(c.Data)) > task.limit:
		return fmt.Errorf("%w: artifact %s of %s is larger than its limit of %s", model.ErrQuota, c.Name, c.Task, num.Bytes(task.limit))
	}
	more, err := m.reserveRoom(c, run)
	if err != nil {
		return err
	}
	err = m.store.PutArtifactChunk(ctx, c.Task, c.Attempt.Attempt, c.Name, c.Offset, c.Data)
	m.storeAnswered(ctx, err)
	if err != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		run.ends[artifact{c.Attempt, c.Name}] -= more
		run.total -= more
	}
	return err
}

// may reports whether a task may have an artifact of this name.
func (m *Master) may(c wire.Chunk, run *artifacts, task printing) bool {
	if c.Name == model.ArtifactStdout || c.Name == model.ArtifactStderr {
		return true
	}
	if !task.keeps || !model.CanKeep(c.Name) {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	others := 0
	for a := range run.ends {
		if a.Attempt == c.Attempt && a.name != c.Name && model.CanKeep(a.name) {
			others++
		}
	}
	return others < model.MaxKept
}

// reserveRoom adds a part to what its run keeps, unless the run's quota is used
// up, and returns by how much it grows: parts that come again take no room.
func (m *Master) reserveRoom(c wire.Chunk, run *artifacts) (more int64, err error) {
	key, end := artifact{c.Attempt, c.Name}, c.Offset+int64(len(c.Data))
	m.mu.Lock()
	defer m.mu.Unlock()
	more = max(0, end-run.ends[key])
	if quota := m.cfg.RunQuota; quota > 0 && run.total+more > quota {
		if !run.told {
			run.told = true
			defer m.ev.emit(model.Event{Run: c.Task.Run(), Kind: model.EventQuota, Severity: model.Warning,
				Text: fmt.Sprintf("the quota of %s for what the tasks of a run print is used up: what they print from now on is cut", num.Bytes(quota))})
		}
		return 0, fmt.Errorf("%w: the run keeps %s of what its tasks printed already", model.ErrQuota, num.Bytes(run.total))
	}
	run.ends[key] += more
	run.total += more
	return more, nil
}

// artifactsOf returns what is known of the artifacts of a task's run, and of the
// task. Both are read from the store when the task is not known: a run gets steps
// as its results come.
func (m *Master) artifactsOf(ctx context.Context, id model.TaskID) (*artifacts, printing, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	run := m.artifacts[id.Run()]
	if run != nil {
		if task, ok := run.tasks[id]; ok {
			return run, task, nil
		}
		if time.Since(run.read) < readAgain {
			return nil, printing{}, model.Unavailablef("task %s is not known yet", id)
		}
	}
	m.mu.Unlock()
	data, err := m.store.Heads(ctx, id.Run(), 0)
	if err == nil {
		data.Artifacts, err = m.store.Artifacts(ctx, id.Run())
	}
	m.mu.Lock()
	if err != nil {
		return nil, printing{}, err
	}
	if run = m.artifacts[id.Run()]; run == nil {
		for other := range m.artifacts { // one is forgotten if there are too many
			if len(m.artifacts) >= runsKept {
				delete(m.artifacts, other)
			}
		}
		run = &artifacts{tasks: make(map[model.TaskID]printing), ends: make(map[artifact]int64)}
		for _, a := range data.Artifacts {
			run.ends[artifact{wire.Attempt{Task: a.Task, Attempt: a.Attempt}, a.Name}] = a.Size
			run.total += a.Size
		}
		m.artifacts[id.Run()] = run
	}
	run.read = time.Now()
	for _, s := range data.Steps {
		for _, t := range s.Tasks {
			run.tasks[t.ID] = printing{t.Node, t.Spec.ArtifactLimit, t.Spec.Kind == model.KindService}
		}
	}
	return run, run.tasks[id], nil // none: a task of no node
}
