package frame

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/unit"
)

// isLevel reports whether direction, unit or name say that the values are levels, as a
// rate, a time or a share is: these rise with load or with age, and count nothing.
func (f *Frame) isLevel() bool {
	words := wordsOf(f.Metric)
	return f.Better != "" || levelUnit(f.Unit) || len(words) > 1 && levelUnit(words[len(words)-1]) ||
		slices.ContainsFunc(words, func(w string) bool { return slices.Contains(levelNames, w) })
}

var (
	levelNames = []string{"latency", "throughput", "bandwidth", "rate", "iops", "rps", "qps", "tps"}
	levelUnits = []string{"%", "percent", "pct", "iops", "rps", "qps", "tps", "bps", "kbps", "mbps", "gbps", "hz",
		"khz", "mhz", "ghz", "nsec", "usec", "msec", "sec", "secs", "second", "seconds", "millisecond",
		"milliseconds", "microseconds", "nanoseconds", "min", "minutes", "hours"}
)

// levelUnit reports whether a unit is that of a rate, a time or a share.
func levelUnit(name string) bool {
	if strings.Contains(name, "/") || slices.Contains(levelUnits, Plain(name)) {
		return true
	}
	_, err := unit.ParseDuration("1" + name)
	return err == nil
}

// isRamp reports whether what looks like a total follows a factor: a fact of numbers that
// somebody chose, such as the number of clients, and that changes in one direction with each
// rise of the values, and in the other with each fall.
func (f *Frame) isRamp(t *Total) bool {
	return slices.ContainsFunc(f.Facts, func(x Fact) bool {
		levels, ok := x.chosen()
		return ok && f.rampOf(t, &x, levels)
	})
}

// rampOf reports whether the values rise and fall with a fact, or against it.
func (f *Frame) rampOf(t *Total, x *Fact, levels []float64) bool {
	with, against := true, true
	for s := range f.steps(t.facts, t.backward) {
		if s.before < 0 || f.Values[s.row] == f.Values[s.before] {
			continue
		}
		rises := f.Values[s.row] > f.Values[s.before]
		by := levels[x.Codes[s.row]] - levels[x.Codes[s.before]]
		with, against = with && by != 0 && rises == (by > 0), against && by != 0 && rises == (by < 0)
	}
	return with || against
}

// chosen are the levels of a fact as numbers, by code; ok is false where they are none, where
// they number the rows or tell the time, or where they look like measured values: they
// neither come again nor are round.
func (x *Fact) chosen() (levels []float64, ok bool) {
	if slices.Contains(x.Codes, 0) || x.numbersRows() {
		return nil, false
	}
	levels, round := make([]float64, len(x.Levels)), true
	for code, text := range x.Levels[1:] {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, false
		}
		levels[code+1], round = v, round && isRound(v)
	}
	return levels, round || 2*(len(x.Levels)-1) <= len(x.Codes)
}

// numbersRows reports whether the name of a fact says that it counts rows or time.
func (x *Fact) numbersRows() bool {
	words := wordsOf(x.Name)
	if len(words) > 1 && levelUnit(words[len(words)-1]) { // elapsed_s
		words = words[:len(words)-1]
	}
	return slices.Contains([]string{
		"#", "id", "index", "idx", "no", "row", "line", "seq", "sequence", "iteration", "iter", "sample", "t", "time",
		"timestamp", "ts", "epoch", "elapsed", "elapsed_time", "uptime", "age", "offset", "second", "minute", "hour",
		"day", "weekday", "week", "month", "year", FactTrial, FactBlock, FactRun, FactRepetition, FactSubject,
	}, strings.Join(words, "_")) || slices.Contains([]string{"id", "index"}, words[len(words)-1])
}

// mostOdd is below which number a round one is without its factors 2 and 5.
const mostOdd = 100

// isRound reports whether somebody may have chosen a number, such as 12, 250, 4096 or 0.5.
func isRound(v float64) bool {
	for range 6 {
		if v != math.Trunc(v) {
			v *= 10
		}
	}
	for _, by := range []float64{2, 5} {
		for v != 0 && math.Mod(v, by) == 0 {
			v /= by
		}
	}
	return math.Abs(v) < mostOdd && v == math.Trunc(v)
}
