package attack

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// The server of TestArtifacts keeps this much of a run; the attack is larger.
const (
	runQuota   = 1000 * 1000
	storeQuota = 64 * 1000 * 1000
	attackSize = 260 * 1000 * 1000
)

// TestArtifacts: with the key of an agent that has tasks, and with that of one
// that has none, artifacts take no more of the store than the quota of the run
// that is under way. Of what is over nothing changes, and the next run is fine.
func TestArtifacts(t *testing.T) {
	if testing.Short() {
		t.Skip("encrypts much; make test does it")
	}
	t.Parallel()
	w := newWorld(t, "", "--run-quota", fmt.Sprint(runQuota, "B"), "--store-quota", fmt.Sprint(storeQuota, "B"))
	over := w.works()
	before := w.run("export", string(over.Run.ID))
	key := must[*identity.Key](t)(identity.LoadOrCreate(filepath.Join(w.dir, "honest", "agent.nk"), identity.RoleAgent))
	own, other := w.holder("honest", identity.RoleAgent, key), w.joined("other", identity.RoleAgent)
	quarter := make([]byte, wire.MaxChunk/4)
	rand.Read(quarter)
	data := bytes.Repeat(quarter, 4) // quick to send
	small := w.stored()

	held, task := w.hold()
	kept := 0
	for n := range 4 * runQuota / wire.MaxChunk {
		text := own.chunk(wire.Chunk{Attempt: wire.Attempt{Task: task, Attempt: 1}, Name: model.ArtifactStdout, Offset: int64(n) * wire.MaxChunk}, data)
		if text == "" {
			kept += wire.MaxChunk
		} else if !strings.Contains(text, "the run keeps 768 KiB of what its tasks printed already") {
			t.Fatalf("more than the quota is answered with %q", text)
		}
	}
	if kept == 0 || kept > runQuota {
		t.Errorf("the run under way keeps %d bytes, want some, and at most %d", kept, runQuota)
	}

	at := wire.Attempt{Task: over.Results[0].Task, Attempt: over.Results[0].Attempt}
	overAgain := func(n int) wire.Attempt { return wire.Attempt{Task: at.Task, Attempt: at.Attempt + 1 + n} }
	missing := func(n int) wire.Attempt {
		return wire.Attempt{Task: model.NewTaskID(over.Results[0].Step, n+1), Attempt: 1}
	}
	attacks := []struct {
		h    *holder
		want string
		make func(n int) wire.Chunk
	}{
		{own, "attempt is over: it has its result", func(int) wire.Chunk { return wire.Chunk{Attempt: at} }},
		{own, "larger than its limit", func(n int) wire.Chunk { return wire.Chunk{Attempt: at, Offset: int64(n+1) << 30} }},
		{own, "is at attempt 1", func(n int) wire.Chunk { return wire.Chunk{Attempt: overAgain(n)} }},
		{own, "quota used up", func(n int) wire.Chunk { return wire.Chunk{Attempt: wire.Attempt{Task: task, Attempt: 2 + n}} }},
		{own, "has no artifact", func(n int) wire.Chunk { return wire.Chunk{Attempt: at, Name: fmt.Sprint("../stdout", n)} }},
		{own, "has no artifact", func(n int) wire.Chunk { return wire.Chunk{Attempt: at, Offset: int64(n) + 1} }},
		// Once a second the server looks for such a task.
		{own, "(does not belong to node honest|is not known yet)", func(n int) wire.Chunk { return wire.Chunk{Attempt: missing(n)} }},
		{other, "does not belong to node other", func(int) wire.Chunk { return wire.Chunk{Attempt: wire.Attempt{Task: task, Attempt: 1}} }},
	}
	for n := range attackSize / wire.MaxChunk {
		a := attacks[n%len(attacks)]
		if text := a.h.chunk(a.make(n/len(attacks)), data); !regexp.MustCompile(a.want).MatchString(text) {
			t.Errorf("chunk %d is answered with %q, want %q", n, text, a.want)
		}
	}
	if grown := w.stored() - small; grown > storeQuota/4 {
		t.Errorf("the store has grown by %d bytes", grown)
	}
	check(t, os.WriteFile(filepath.Join(w.dir, "end"), nil, 0o600))
	<-held.Done()
	if after := w.run("export", string(over.Run.ID)); after != before {
		t.Errorf("the run that was over has changed:\n%s\nbefore:\n%s", after, before)
	}
	w.works()
}

// TestPartsLeaveRoomForResults: bodies in parts do not take the room that is kept
// free on the server's disk.
func TestPartsLeaveRoomForResults(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", "--keep-free", "1000TiB")
	h := w.joined("other", identity.RoleAgent)
	if text, ok := h.ask("part", body(part(1, 0, 2, []byte("x"))), wait); !ok || !strings.Contains(text, "nearly full") {
		t.Errorf("a part is answered with %q, %v, want that the disk is nearly full", text, ok)
	}
}

// hold begins a run, and returns its first task, which lasts until there is a
// file "end".
func (w *world) hold() (*proc, model.TaskID) {
	w.t.Helper()
	file, begun := filepath.Join(w.dir, "held.yaml"), filepath.Join(w.dir, "begun")
	check(w.t, os.WriteFile(file, fmt.Appendf(nil, `
name: held
fleet: {agents: {count: 1}}
evaluations: [serial]
workloads:
  - {kind: command, command: 'touch %s; while [ ! -e %s ]; do sleep 0.05; done; echo 1', timeout: 20s, metrics: [{name: rate, unit: op/s, better: higher, number: true}]}
trials: 1
`, begun, filepath.Join(w.dir, "end")), 0o600))
	p := w.start("run", file)
	w.poll("the task", func() bool { _, err := os.Stat(begun); return err == nil })
	var d model.RunData
	check(w.t, json.Unmarshal([]byte(w.run("export", "running")), &d))
	return p, d.Steps[0].Tasks[0].ID
}

// chunk sends a part of an artifact, and returns how it is refused, "" if it is
// not.
func (h *holder) chunk(c wire.Chunk, data []byte) string {
	h.t.Helper()
	c.Node, c.Name, c.Data = model.NodeID(h.name), cmp.Or(c.Name, model.ArtifactStdout), data
	text, ok := h.ask("chunk", squeezed(must[[]byte](h.t)(wire.EncodeChunk(c))), wait)
	if !ok {
		h.t.Fatalf("chunk %+v has no answer", c.Attempt)
	}
	return text
}

// stored is how many bytes the files of the server's data directory have.
func (w *world) stored() (bytes int64) {
	w.t.Helper()
	check(w.t, filepath.WalkDir(filepath.Join(w.dir, "data"), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	}))
	return bytes
}
