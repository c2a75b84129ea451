package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// TestPoolLacks: where the machine has no more files, memory or ports the run ends
// and says so; where the other side takes no connection, operations fail.
func TestPoolLacks(t *testing.T) {
	for _, c := range []struct {
		errno syscall.Errno
		lack  bool
	}{
		{syscall.EMFILE, true}, {syscall.ENFILE, true}, {syscall.ENOBUFS, true}, {syscall.ENOMEM, true},
		{syscall.EADDRNOTAVAIL, true},
		{syscall.ECONNREFUSED, false}, {syscall.ENETUNREACH, false}, {syscall.ECONNRESET, false},
	} {
		t.Run(c.errno.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{do: taking(time.Hour), dial: func(_ context.Context, i int) error {
					if i < 3 {
						return nil
					}
					wrong := &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", c.errno)}
					return &Error{Kind: ErrConnect, Err: fmt.Errorf("connecting: %w", wrong)}
				}}
				p := fakePool(t, f, PoolConfig{Clients: 100, Timeout: 2 * time.Hour})
				var counts Counts
				_, err := p.Run(t.Context(), Run{
					Plan:  Plan{Arrivals: Constant, Stages: []Stage{Hold(10, 10*time.Second)}},
					Share: All, Each: func(s Second) { counts.Add(s.Total()) }})
				if errors.Is(err, model.ErrUnavailable) != c.lack || !c.lack && err != nil ||
					(counts.Errors[ErrConnect] > 2) == c.lack {
					t.Errorf("Run = %v, %+v", err, counts)
				}
			})
		})
	}
}

// TestPoolShort: more connections than there may be files are no reason to refuse
// where nobody asked for them; a run that needs them ends, and nothing is the
// target's fault.
func TestPoolShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fakePool(t, &fake{do: taking(time.Second)}, PoolConfig{Clients: 100})
		p.short, p.slots.limit = true, 4
		offer := func(rate float64) (counts Counts, err error) {
			_, err = p.Run(t.Context(), Run{Plan: Plan{Arrivals: Constant, Stages: []Stage{Hold(rate, 5*time.Second)}},
				Share: All, Drain: 2 * time.Second, Each: func(s Second) { counts.Add(s.Total()) }})
			return counts, err
		}
		if counts, err := offer(3); err != nil || counts.OK != 15 {
			t.Errorf("with enough files: %v, %+v", err, counts)
		}
		counts, err := offer(50)
		if !errors.Is(err, model.ErrUnavailable) || !strings.Contains(err.Error(), "needs more than 4 connections") ||
			counts.Failed() > 0 {
			t.Errorf("with too few: %v, %+v", err, counts)
		}
	})
}

// TestConnections: as many as there may be files, with advice that works.
func TestConnections(t *testing.T) {
	limit := OpenFiles()
	for _, c := range []struct {
		asked, origins, overhead int
		chosen                   bool
		want                     int
		short, fails             bool
	}{
		{1, 1, 0, true, 1, false, false},
		{1 << 40, 1, 100, false, limit - otherFiles - 100, true, false},
		{1 << 40, 4, 0, false, (limit - otherFiles) / 4, true, false},
		{1 << 40, 1, 0, true, 0, false, true},
		{1, 1, limit, false, 0, false, true},
	} {
		got, short, err := Connections(c.asked, c.origins, c.overhead, c.chosen)
		if got != c.want || short != c.short || errors.Is(err, model.ErrUnavailable) != c.fails {
			t.Errorf("Connections(%d, %d, %d, %v) = %d, %v, %v", c.asked, c.origins, c.overhead, c.chosen, got, short,
				err)
		}
	}
	_, _, err := Connections(1<<40, 2, 10, true)
	advice := fmt.Sprintf("--connections %d)", (limit-otherFiles-10)/2)
	if err == nil || !strings.Contains(err.Error(), advice) {
		t.Errorf("%v, want the advice %q", err, advice)
	}
	if n, _, err := Connections((limit-otherFiles-10)/2, 2, 10, true); err != nil || n == 0 {
		t.Errorf("the advice does not work: %v", err)
	}
}

// TestPoolPending: what an operation without an end waits for is told.
func TestPoolPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := &UnansweredError{Address: "192.0.2.1:443", For: AwaitTLS, Waited: 10 * time.Second}
		f := &fake{dial: func(ctx context.Context, _ int) error {
			<-ctx.Done()
			return &Error{Kind: ErrConnect, Err: silent}
		}}
		p := fakePool(t, f, PoolConfig{Clients: 2, Timeout: time.Hour})
		usage, err := p.Run(t.Context(),
			Run{Plan: Plan{Arrivals: Constant, Stages: []Stage{Hold(1, 2*time.Second)}}, Share: All,
				Drain: 10 * time.Second, Each: func(Second) {}})
		if err != nil || !errors.Is(usage.Pending, silent) ||
			!strings.Contains(silent.Error(), "connected, no answer to TLS within 10s") {
			t.Errorf("Run = %v, pending %v", err, usage.Pending)
		}
	})
}
