package kvtest

import (
	"errors"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/kv"
)

// CheckFull tests a store whose server allows limit connections, of which others hold
// some: it says so, a data set is loaded over those that there are, and a session
// beyond them is refused in the server's words. Servers need a moment to notice that a
// connection is closed.
func CheckFull(t *testing.T, store kv.Store, limit, others int) {
	t.Helper()
	deadline := time.Now().Add(promptly)
	if room := Room(t, store, others); room.Limit != limit || room.Others != others || room.Setting == "" {
		t.Errorf("RoomIn = %+v, want %d of which others hold %d", room, limit, others)
	}
	prepare(t, store, set)
	for opened := 0; opened <= limit; {
		x, err := store.Connect(t.Context(), set.Shape)
		if err == nil {
			opened++
			t.Cleanup(func() { noError(t, x.Close()) })
			continue
		}
		e, ok := errors.AsType[*load.Error](err)
		if ok && e.Full != "" && opened < limit-others && time.Now().Before(deadline) {
			continue
		}
		if !ok || e.Kind != load.ErrConnect || e.Full == "" || opened != limit-others {
			t.Errorf("after %d sessions: %v, want an answer that there are too many", opened, err)
		}
		return
	}
	t.Errorf("the server allows more than %d connections", limit)
}

// Room is how many connections a store has once others hold as many as are given, or
// after a while: a server forgets connections a moment after they were closed.
func Room(t *testing.T, store kv.Store, others int) load.Room {
	t.Helper()
	for deadline := time.Now().Add(promptly); ; {
		room, err := kv.RoomIn(t.Context(), store, 0)
		noError(t, err)
		if err != nil || room.Others <= others || time.Now().After(deadline) {
			return room
		}
	}
}
