package network

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

const (
	// maxMessage bounds what a server keeps of one.
	maxMessage = unit.MiB
	// eachMessage is how long messages of one size go back and forth.
	eachMessage = time.Second
	// fewestTrips is from how many complete round trips on there is a median. Time ends
	// one more, which is left out: of few it would matter.
	fewestTrips = 3
	// fewestForTail is from how many on a 99th percentile is not the longest one.
	fewestForTail = 200
)

// sweep is how long the round trips of all sizes take. The ends of a pair take turns.
func (s settings) sweep() time.Duration {
	took := time.Duration(len(s.messages)) * eachMessage
	if s.mutual {
		took *= 2
	}
	return took
}

// sendMessages sends messages of each size to all peers and waits for them, one after
// the other. What has failed counts as a trouble of the peer's echo.
func (s *session) sendMessages(ctx context.Context, begin time.Time) {
	for _, size := range s.set.messages {
		at := begin
		if begin = begin.Add(eachMessage); s.set.mutual {
			begin = begin.Add(eachMessage)
		}
		var trips sync.WaitGroup
		all, mu := histogram.New(maxRTT), sync.Mutex{}
		for _, e := range s.echoes {
			first := at
			if s.set.mutual && s.node > string(e.peer.Node) {
				first = at.Add(eachMessage)
			}
			trips.Go(func() {
				took, err := e.trips(ctx, int64(size), first)
				if err != nil && ctx.Err() == nil {
					e.trouble(err)
				}
				mu.Lock()
				all.Merge(took)
				mu.Unlock()
			})
		}
		if trips.Wait(); all.TotalCount() < fewestTrips {
			continue
		}
		for _, quantile := range []float64{50, 99} {
			if quantile > 50 && all.TotalCount() < fewestForTail {
				continue
			}
			sample := workload.Info(fmt.Sprintf("message_rtt_p%.0f", quantile), "us", float64(all.ValueAtQuantile(quantile)))
			sample.Labels = map[string]string{"size": size.String()}
			s.report.Sample(sample)
		}
	}
}

// trips are the times of messages to a peer that come back whole, from a moment on.
func (e *echo) trips(ctx context.Context, size int64, begin time.Time) (*hdrhistogram.Histogram, error) {
	took := histogram.New(maxRTT)
	if err := workload.Pause(ctx, time.Until(begin)); err != nil {
		return took, err
	}
	conn, err := dial(ctx, e.addr, e.stall, 0)
	if err != nil {
		return took, err
	}
	defer reset(conn)
	defer interrupt(ctx, conn)()
	end := begin.Add(eachMessage)
	if err := conn.SetDeadline(end); err != nil {
		return took, err
	}
	l := newLink(conn)
	if err := l.ask("GET", pathMessage, e.addr, e.node, size); err != nil {
		return took, err
	}
	if _, err := l.answer(); err != nil {
		return took, err
	}
	message := make([]byte, size)
	for sent := time.Now(); sent.Before(end); {
		if err := l.bounce(message, false); err != nil {
			if time.Now().Before(end) {
				return took, err
			}
			break
		}
		now := time.Now()
		_ = took.RecordValue(min(max(now.Sub(sent).Microseconds(), 1), maxRTT)) // within its bounds
		sent = now
	}
	return took, nil
}

// bounce sends a message and takes it back, or takes one and sends it back.
func (l *link) bounce(message []byte, back bool) error {
	l.limit.N = int64(len(message))
	if !back {
		if _, err := l.Write(message); err != nil {
			return err
		}
	}
	if _, err := io.ReadFull(l.r, message); err != nil || !back {
		return err
	}
	_, err := l.Write(message)
	return err
}

// message returns messages of a size until the client has enough.
func (s *server) message(l *link, c *client, size int64) error {
	if size < 1 || size > int64(maxMessage) {
		return errors.Join(reply(l, http.StatusBadRequest, "no message has this length\n"), errFatal)
	}
	if err := respond(l, http.StatusOK, 0); err != nil {
		return err
	}
	for message := make([]byte, size); ; {
		if err := l.bounce(message, true); err != nil {
			return err
		}
		s.clients.heard(c)
	}
}
