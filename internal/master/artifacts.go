package master

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// artifacts are the tasks of a run, and how much is kept of what they print.
type artifacts struct {
	tasks map[model.TaskID]model.Task
	ends  map[artifact]int64 // where the last part ends
	total int64              // of the ends
	told  bool               // that the quota is used up
}

type artifact struct {
	wire.Attempt
	name string
}

// runsKept is for how many runs artifacts are kept in mind: they come in many
// parts.
const runsKept = 16

// Chunk stores a part of an artifact of the node's own task, where its limit,
// the run's quota, and the disk have room for it.
func (m *Master) Chunk(ctx context.Context, c wire.Chunk) error {
	if err := m.roomFor(); err != nil {
		return err
	}
	run, err := m.artifactsOf(ctx, c.Task.Run())
	if err != nil {
		return err
	}
	task, known := run.tasks[c.Task]
	switch {
	case !known || task.Node != c.Node:
		return fmt.Errorf("%w: task %s does not belong to node %s", model.ErrNotFound, c.Task, c.Node)
	case !slices.Contains([]string{model.ArtifactStdout, model.ArtifactStderr}, c.Name), c.Offset%wire.MaxChunk != 0:
		return fmt.Errorf("%w: task %s has no artifact %q with a part at %d", model.ErrUsage, c.Task, c.Name, c.Offset)
	case c.Offset+int64(len(c.Data)) > task.Spec.ArtifactLimit:
		return fmt.Errorf("%w: artifact %s of %s is larger than its limit of %s", model.ErrQuota, c.Name, c.Task, num.Bytes(task.Spec.ArtifactLimit))
	}
	if err := m.reserveRoom(c, run); err != nil {
		return err
	}
	err = m.cfg.Store.PutArtifactChunk(ctx, c.Task, c.Attempt.Attempt, c.Name, c.Offset, c.Data)
	m.storeAnswered(ctx, err)
	if errors.Is(err, model.ErrStale) {
		m.forgetArtifacts(c.Task.Run()) // what was reserved is not there
	}
	return err
}

// reserveRoom adds a part to what its run keeps, unless the run's quota is used
// up. Parts that come again take no room.
func (m *Master) reserveRoom(c wire.Chunk, run *artifacts) error {
	key, end := artifact{c.Attempt, c.Name}, c.Offset+int64(len(c.Data))
	m.mu.Lock()
	defer m.mu.Unlock()
	more := max(0, end-run.ends[key])
	if quota := m.cfg.RunQuota; quota > 0 && run.total+more > quota {
		if !run.told {
			run.told = true
			defer m.ev.emit(model.Event{Run: c.Task.Run(), Kind: model.EventQuota, Severity: model.Warning,
				Text: fmt.Sprintf("the quota of %s for what the tasks of a run print is used up: what they print from now on is cut", num.Bytes(quota))})
		}
		return fmt.Errorf("%w: the run keeps %s of what its tasks printed already", model.ErrQuota, num.Bytes(run.total))
	}
	run.ends[key] += more
	run.total += more
	return nil
}

func (m *Master) forgetArtifacts(run model.RunID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.artifacts, run)
}

// artifactsOf returns what is known of a run's artifacts, from the store at
// first.
func (m *Master) artifactsOf(ctx context.Context, id model.RunID) (*artifacts, error) {
	m.mu.Lock()
	run, ok := m.artifacts[id]
	m.mu.Unlock()
	if ok {
		return run, nil
	}
	data, err := m.cfg.Store.Heads(ctx, id, 0)
	if err == nil {
		data.Artifacts, err = m.cfg.Store.Artifacts(ctx, id)
	}
	if err != nil {
		return nil, err
	}
	run = &artifacts{tasks: make(map[model.TaskID]model.Task), ends: make(map[artifact]int64)}
	for _, s := range data.Steps {
		for _, t := range s.Tasks {
			run.tasks[t.ID] = t
		}
	}
	for _, a := range data.Artifacts {
		run.ends[artifact{wire.Attempt{Task: a.Task, Attempt: a.Attempt}, a.Name}] = a.Size
		run.total += a.Size
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if other, ok := m.artifacts[id]; ok {
		return other, nil // another part was faster
	}
	if len(m.artifacts) >= runsKept {
		clear(m.artifacts)
	}
	m.artifacts[id] = run
	return run, nil
}
