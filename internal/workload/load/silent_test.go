package load

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// TestSilentStore: a store that accepts connections and never answers is
// reported as that, and soon, by whichever node is told to use it.
func TestSilentStore(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts, and nobody answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	for _, url := range []string{"redis://%/", "rediss://%/", "postgres://me@%/db", "mysql://me@%/db", "cassandra://%/"} {
		for part := range 2 {
			t.Run(url[:5], func(t *testing.T) {
				t.Parallel()
				p := params(strings.Replace(url, "%", l.Addr().String(), 1), 100)
				p.Agreement, p.Timeout = sla("p90=100ms"), unit.Duration(300*time.Millisecond)
				ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
				defer cancel()
				env := &workload.Env{Part: part, Parts: 2, Environ: os.Environ(), Stderr: io.Discard}
				err := p.Prepare(ctx, env)
				const want = "the store accepted the connection but did not answer within 300ms"
				if ctx.Err() != nil || !errors.Is(err, model.ErrUnavailable) || !strings.Contains(err.Error(), want) {
					t.Errorf("Prepare = %v, %v; want %q", err, ctx.Err(), want)
				}
			})
		}
	}
}
