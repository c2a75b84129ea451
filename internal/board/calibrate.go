package board

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// workQuery is the database's work: the argument is how many units. Each unit is
// the same computation, so that a statement's processor time is a straight line.
var workQuery = query{
	mysql:    "SELECT BENCHMARK(?, MD5('" + workText + "'))",
	postgres: "SELECT count(md5(i::text || '" + workText + "')) FROM generate_series(1, $1::bigint) i",
}

const workText = "a unit of work for the database, which is long enough to cost some hundred nanoseconds"

// calibrated finds out what a unit costs in each database, if any has work, and with
// metered whether its threads are on this machine.
func (d *databases) calibrated(ctx context.Context, work []time.Duration, unit time.Duration, metered bool) error {
	if slices.Max(work) == 0 {
		return nil
	}
	for _, p := range d.all {
		if p.metered = metered; metered {
			if err := p.meterable(ctx); err != nil {
				return err
			}
		}
		if p.unit = unit; unit > 0 {
			continue
		}
		text, err := p.get(ctx, unitName)
		if err != nil {
			return err
		}
		ns, err := strconv.ParseInt(text, 10, 64)
		if err != nil || ns <= 0 {
			return model.Usagef("it is not known what work costs in %s: "+
				"measure it with `scalebench board calibrate --db URL --save`, or say it with --db-unit", p.Address())
		}
		p.unit = time.Duration(ns)
	}
	return nil
}

// Calibration is what a unit of a database's work costs.
type Calibration struct {
	Database string `json:"database"`
	// Unit is the median over rounds, in s; Low and High are quartiles.
	Unit float64 `json:"unit"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Statement is what a statement of work costs beside its units, in s.
	Statement float64 `json:"statement"`
	Rounds    int     `json:"rounds"`
	// Process is the database's process of which the processor time was read; "" where it
	// is not on this machine. Then times are elapsed times, which are as long as
	// processor times only if nothing else runs and no quota holds it back.
	Process string `json:"process,omitempty"`
}

const (
	calibrationRounds = 16
	roundTime         = 20 * time.Millisecond // about, of the shorter of two statements
)

// Calibrate measures what a unit of work costs in a database, from statements of
// n and of 3n units: their difference is 2n units, without what statements cost
// by themselves. With save it stores that in the database, for the application.
func Calibrate(ctx context.Context, url string, save bool) (Calibration, error) {
	all, err := openNodes([]string{url})
	defer all.close()
	if err != nil {
		return Calibration{}, err
	}
	if len(all) > 1 {
		return Calibration{}, model.Usagef("one database at a time is calibrated")
	}
	n := all[0]
	if save {
		if _, err := n.description(ctx); err != nil {
			return Calibration{}, err
		}
	}
	c, err := n.calibrate(ctx)
	if err == nil && save {
		err = n.set(ctx, unitName, strconv.FormatInt(int64(c.Unit*1e9+.5), 10))
	}
	return c, err
}

func (n *database) calibrate(ctx context.Context) (Calibration, error) {
	conn, err := n.db.Conn(ctx)
	if err != nil {
		return Calibration{}, fmt.Errorf("connecting to %s: %w", n.Address(), n.Explain(err))
	}
	defer conn.Close() //nolint:errcheck // it was only read
	m := &meter{conn: conn, store: n.Store}
	units, err := m.prepare(ctx)
	each, fixed := make([]float64, calibrationRounds), make([]float64, calibrationRounds)
	for i := range each {
		var short, long time.Duration
		if err == nil {
			short, err = m.cost(ctx, units)
		}
		if err == nil {
			long, err = m.cost(ctx, 3*units)
		}
		if err != nil {
			return Calibration{}, n.Explain(err)
		}
		each[i] = (long - short).Seconds() / float64(2*units)
		fixed[i] = short.Seconds() - each[i]*float64(units)
	}
	slices.Sort(each)
	slices.Sort(fixed)
	at := func(q int) int { return calibrationRounds * q / 4 }
	return Calibration{Database: n.Address().String(), Unit: each[at(2)], Low: each[at(1)], High: each[at(3)],
		Statement: fixed[at(2)], Rounds: calibrationRounds, Process: m.process}, nil
}
