package agent

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/monitor"
	"github.com/scalebench/scalebench/internal/recording"
	"github.com/scalebench/scalebench/internal/wire"
)

// watched is the recording that people watch while it goes on. That of a task is
// another one: it must begin and end with the task.
type watched struct {
	sync.WaitGroup
	going atomic.Bool
	until atomic.Int64 // when nobody watches any more, Unix ns
}

// sentReadings is how many of the latest readings are sent each second: so many
// less two messages may be lost in a row, and no second is.
const sentReadings = 5

// record sends the readings of this node each second, until no server has asked
// for them for [wire.RecordFor].
func (a *Agent) record(ctx context.Context) {
	a.watched.until.Store(time.Now().Add(wire.RecordFor).UnixNano())
	if !a.watched.going.CompareAndSwap(false, true) {
		return
	}
	a.watched.Go(func() {
		defer a.watched.going.Store(false)
		offset, _, err := a.link.Clock(ctx)
		if err != nil {
			a.log.Debug("measuring the clock offset for who watches", "err", err)
			return // the server asks again
		}
		began := time.Now()
		send := func(r *recording.Recording) {
			msg := wire.Readings{Node: a.cfg.Node.ID, Began: began.Add(offset).UTC(), Host: capacities(r.Series(began))}
			if err := a.link.Readings(msg); err != nil {
				a.log.Debug("sending readings to who watches", "err", err)
			}
		}
		rec := monitor.New(monitor.Config{Volumes: a.cfg.Volumes, Recent: sentReadings, After: send}).Start(ctx)
		defer rec.Stop()
		for {
			left := time.Until(time.Unix(0, a.watched.until.Load()))
			if left <= 0 {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(left):
			}
		}
	})
}

// capacities leaves out what is no use of a capacity.
func capacities(all []model.HostSeries) []model.HostSeries {
	return slices.DeleteFunc(all, func(s model.HostSeries) bool {
		of, _, _ := strings.Cut(s.Metric, ".")
		return !s.Counter || !slices.Contains([]string{"volume", "disk", "net", "cpu", "cgroup"}, of)
	})
}
