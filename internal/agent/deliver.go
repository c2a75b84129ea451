package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/runner"
	"github.com/scalebench/scalebench/internal/wire"
)

// errNotStored: the server answered, but could not store the result now.
var errNotStored = errors.New("the server cannot store the result now")

// errUnreadable: what a task has left cannot be read from the disk.
var errUnreadable = errors.New("reading what the task has left")

// deliver hands an ended attempt to the server until it is stored or not
// wanted any more. When ctx ends it makes one last, short try: what is not
// delivered stays in the journal for the next start.
func (a *Agent) deliver(ctx context.Context, e entry) error {
	dropped := false
	sent := make(map[string]int64)
	try := func(ctx context.Context) (err error) {
		dropped, err = a.deliverOnce(ctx, e, sent)
		return err
	}
	err := retry(ctx, a.log, "delivering the result of "+e.Attempt.String(), try)
	if err != nil && ctx.Err() != nil {
		<-a.left // or else the server would give this node its next attempt
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
		defer cancel()
		if try(last) != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if dropped {
		a.log.Info("the server no longer needs this result", "attempt", e.Attempt)
	}
	return a.whenRoom(ctx, func() error { return a.journal.markDelivered(e.Attempt, time.Now()) })
}

// deliverOnce sends artifacts first, so that a stored result never names an
// artifact that is not there. sent is how many bytes of each the server has:
// a try goes on where the last one stopped.
func (a *Agent) deliverOnce(ctx context.Context, e entry, sent map[string]int64) (dropped bool, err error) {
	for _, name := range slices.Sorted(maps.Keys(e.Artifacts)) {
		switch err := a.sendArtifact(ctx, e, name, sent); {
		case errors.Is(err, errUnreadable):
			a.log.Warn("an artifact is cut", "artifact", name, "attempt", e.Attempt, "kept", sent[name], "err", err)
			cutArtifact(e.Result, name, sent[name])
		case errors.Is(err, model.ErrQuota), errors.Is(err, model.ErrStale), errors.Is(err, model.ErrNotFound):
			cutArtifact(e.Result, name, sent[name]) // whether the result is wanted is for its reply to say
		case err != nil:
			return false, err
		}
	}
	reply, err := a.link.Result(ctx, *e.Result)
	switch {
	case err != nil:
		return false, err
	case reply.Stored || reply.Dropped:
		return reply.Dropped, nil
	}
	return false, fmt.Errorf("%w: %s", errNotStored, reply.Reason)
}

// cutArtifact notes that the server keeps only so many bytes of an artifact.
func cutArtifact(r *model.Result, name string, kept int64) {
	for i := range r.Kept {
		if r.Kept[i].Name == name {
			r.Kept[i].Size, r.Kept[i].Cut = kept, true
			return
		}
	}
	out := &r.Stdout
	if name == model.ArtifactStderr {
		out = &r.Stderr
	}
	out.ArtifactCut = true
	if kept == 0 {
		out.Artifact = ""
	}
}

// sendArtifact sends a kept file in chunks. One that cannot be read, or has
// vanished, is no reason to hold the result back: errUnreadable.
func (a *Agent) sendArtifact(ctx context.Context, e entry, name string, sent map[string]int64) error {
	f, err := os.Open(e.Artifacts[name])
	if err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	defer f.Close() //nolint:errcheck // read only
	if _, err := f.Seek(sent[name], io.SeekStart); err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	buf := make([]byte, wire.MaxChunk)
	for {
		n, err := io.ReadFull(f, buf)
		if n > 0 {
			c := wire.Chunk{Attempt: e.Attempt, Node: e.Node, Name: name, Offset: sent[name], Data: buf[:n]}
			if err := a.link.Chunk(ctx, c); err != nil {
				return fmt.Errorf("sending artifact %s: %w", name, err)
			}
			sent[name] += int64(n)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errUnreadable, err)
		}
	}
}

// endUnfinished turns the attempts that an earlier agent left in the middle
// into results: they are lost, and whatever of them still runs is killed, for
// it would disturb what is measured next.
func (a *Agent) endUnfinished(ctx context.Context) error {
	entries, _, err := a.journal.pending()
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e entry) bool { return e.Result != nil })
	for _, e := range entries {
		if e.Group > 0 {
			if err := runner.KillLeftover(e.Group, e.Ticks); err != nil {
				return fmt.Errorf("killing the rest of %s: %w", e.Attempt, err)
			}
		}
	}
	// No task is running yet, so that all that is there was left by killed ones. It
	// goes before anything is written: it may be what has filled the disk.
	scratch := filepath.Join(a.cfg.StateDir, scratchDir)
	left, err := os.ReadDir(scratch)
	if err != nil {
		return fmt.Errorf("listing scratch directories: %w", err)
	}
	for _, dir := range left {
		if err := os.RemoveAll(filepath.Join(scratch, dir.Name())); err != nil {
			return fmt.Errorf("removing a killed task's scratch directory: %w", err)
		}
	}
	a.sweep(a.cfg.Workloads.Names()...)
	for _, e := range entries {
		e.Result = &model.Result{
			Run: e.Run, Step: e.Step, Task: e.Attempt.Task, Attempt: e.Attempt.Attempt, Node: e.Node,
			Outcome: model.OutcomeLost,
			Error:   "the agent ended during the task",
		}
		if err := a.whenRoom(ctx, func() error { return a.journal.put(e) }); err != nil {
			return err
		}
	}
	return nil
}
