//go:build proof

package proof_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/test/loadserver"
	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/proof/parts"
)

// truthCase is a server, what is asked of it, and the largest load, in requests
// per second, at which it keeps that.
type truthCase struct {
	name   string
	server loadserver.Behaviour
	sla    time.Duration // p90
	args   []string
	truth  float64
}

// workersCase is k workers with an exact service time s under evenly spaced
// requests: up to k/s no request waits, and above it the queue grows. The SLA
// allows 20 ms of waiting, which takes 1 % more load in a window of 2 s after
// 1 s. The requests of one second may wait.
func workersCase(workers int, service time.Duration) truthCase {
	b := loadserver.Behaviour{Workers: workers, Service: service}
	b.Room = int(b.Capacity())
	return truthCase{
		name: fmt.Sprintf("%d × %v, even", workers, service), server: b, sla: service + 20*time.Millisecond,
		args: []string{"--window", "2s", "--warm-up", "1s"}, truth: b.Capacity(),
	}
}

// poissonCase is queues of M/M/1. The response time of each is exponential with
// the rate μ-λ, so that p90 is q at λ = μ - ln(10)/q, which is far below the
// capacity. With so many queues, p90 of a window scatters by 3 %, and the load at
// which it is q by 2 %.
func poissonCase() truthCase {
	const queues, sla = 128, 50 * time.Millisecond
	b := loadserver.Behaviour{Workers: 1, Queues: queues, Service: 10 * time.Millisecond, Times: loadserver.Exponential, Room: 100}
	return truthCase{
		name: fmt.Sprintf("%d of M/M/1, %v", queues, b.Service), server: b, sla: sla,
		args:  []string{"--window", "6s", "--warm-up", "1s", "--arrivals", "poisson", "--connections", "4000"},
		truth: b.Capacity() - queues*math.Log(10)/sla.Seconds(),
	}
}

// TestCapacityTruths: the capacity of servers with a computed capacity, from 400
// to 7,000 requests per second, within 3 %.
func TestCapacityTruths(t *testing.T) {
	parts.Begin(t)
	const ms = time.Millisecond
	rows := []string{"| server | SLA | expected | passed | failed | estimate | off by | windows |", "|---|---|---|---|---|---|---|---|"}
	for _, c := range []truthCase{
		workersCase(8, 20*ms), workersCase(1, ms), workersCase(4, 4*ms), workersCase(2, ms/2), poissonCase(),
	} {
		t.Run(c.name, func(t *testing.T) {
			program.Calmly(t, func() error {
				row, err := c.search(t)
				rows = append(rows, row)
				return err
			})
		})
	}
	t.Log("\n" + strings.Join(rows, "\n"))
}

// search returns a row of the table.
func (c truthCase) search(t *testing.T) (row string, err error) {
	server := loadserver.Start(t, c.server)
	defer server.Stop()
	r, err := install(t).Capacity(0, server.URL(), append(c.args, "--sla", "p90="+c.sla.String(), "--start", "200op/s")...)
	if err != nil {
		return "| " + c.name + " | no result |", err
	}
	if err := program.Decided(r); err != nil {
		return "| " + c.name + " | no result |", err
	}
	row = fmt.Sprintf("| %s | p90=%v | %.0f/s | %.0f | %.0f | %.0f [%.0f, %.0f] | %+.1f %% | %d |", c.name, c.sla, c.truth,
		*r.Passed, *r.Failed, *r.Estimate, r.CI[0], r.CI[1], 100*(*r.Estimate/c.truth-1), len(r.Windows))
	t.Log(row)
	return row, program.Near(r, c.truth)
}
