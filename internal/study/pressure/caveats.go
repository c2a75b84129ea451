package pressure

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/levels"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/telemetry"
	"github.com/scalebench/scalebench/internal/telemetry/cloudwatch"
)

// Caveats are all that an answer can say against itself.
var Caveats = slices.Concat(caveat.Table{noModel, lacks, atLeast, noPrice, gaps, sizesUnknown, balanceUnknown,
	overdrawn, outsideCells,
	aboveModel, twice, leftOut, adviceUnknown},
	telemetry.Caveats, cloudwatch.Caveats)

var (
	noModel = caveat.DefineAbout("no_model", func(c caveat.Caveat, _ struct{}) string {
		return c.Part + " has no pressure: no model was given for it. Give one with --model"
	})
	lacks = caveat.DefineAbout("measure_absent", func(c caveat.Caveat, a absentMeasure) string {
		return fmt.Sprintf("%s has no pressure: the source lacks %s", c.Part, a.Measure)
	})
	atLeast = caveat.DefineAbout("load_incomplete", func(c caveat.Caveat, a absentMeasure) string {
		return fmt.Sprintf("%s: the source lacks %s. The pressure is at least what is shown", c.Part, a.Measure)
	})
	noPrice = caveat.Define("price_absent", func(a pricesArgs) string {
		return fmt.Sprintf("the price list lacks %s. Prices that need them are not known. "+
			"If one costs nothing, list it with 0", num.List(a.Inputs))
	})
	gaps = caveat.DefineAbout("periods_missing", func(c caveat.Caveat, a countOf) string {
		return fmt.Sprintf("%s: %s of %d have no value. They count as gaps, which end a time at the limit", c.Part,
			num.Count(a.Count, "period"), a.Of)
	})
	sizesUnknown = caveat.DefineAbout("operation_sizes", func(c caveat.Caveat, a sizeArgs) string {
		return fmt.Sprintf("%s: operations are %s on average, and those larger than %s count more than once. "+
			"If the kernel does not split them, the mean pressure may be up to %s",
			c.Part, kibText(a.Mean), kibText(a.Unit), num.Percent(100*a.Most))
	})
	balanceUnknown = caveat.DefineAbout("credits_unknown", func(c caveat.Caveat, a creditArgs) string {
		if a.Given {
			return fmt.Sprintf("%s: for %s of the time it is not known whether the base rate or the burst rate was the limit, "+
				"because a mean hides when credits were spent. The bounds allow for that", c.Part, num.Percent(100*a.Share))
		}
		return fmt.Sprintf("%s: the credits at the beginning are not known. For %s of the time the limit may have been the "+
			"base rate or the burst rate. The bounds allow for both. If the model has the fill rate of the bucket, "+
			"give --credits",
			c.Part, num.Percent(100*a.Share))
	})
	overdrawn = caveat.DefineAbout("overdrawn", func(c caveat.Caveat, a countOf) string {
		return fmt.Sprintf("%s: in %s of %d the load was more than the bucket allows. The model, its inputs or the credits "+
			"are wrong: check --model, --set and --credits",
			c.Part, num.Count(a.Count, "period"), a.Of)
	})
	outsideCells = caveat.DefineAbout("outside_measured", func(c caveat.Caveat, a countOf) string {
		return fmt.Sprintf("%s: in %s of %d the operations are of a size or mix that the model has not measured. These have "+
			"no pressure",
			c.Part, num.Count(a.Count, "period"), a.Of)
	})
)

var (
	aboveModel = caveat.DefineAbout("above_model", func(c caveat.Caveat, a shareArgs) string {
		return fmt.Sprintf("%s: the pressure reached %s for a while, so the model or its inputs are wrong: "+
			"check --model and --set. There is no lower bound of the time at the limit", c.Part, num.Percent(100*a.Share))
	})
	twice = caveat.DefineAbout("two_sources", func(c caveat.Caveat, _ struct{}) string {
		return c.Part + ": another source has it, too. The advice uses the first source"
	})
	leftOut = caveat.DefineAbout("devices_left_out", func(c caveat.Caveat, a countOf) string {
		return fmt.Sprintf("%s of %d are partitions, or made of other devices, and are left out. Name one with --model to "+
			"see it",
			num.Count(a.Count, "device"), a.Of)
	})
	adviceUnknown = caveat.Define("advice_unknown", func(struct{}) string {
		return "there is no advice: it depends on the credits of a bucket, which are not known. Give --credits"
	})
)

func kibText(bytes float64) string { return num.Digits(bytes/1024, 4) + " KiB" }

// Arguments of caveats.
type (
	absentMeasure struct {
		Measure telemetry.Measure `json:"measure"`
	}
	pricesArgs struct {
		Inputs []caveat.Verbatim `json:"inputs"` // model and input
	}
	countOf struct {
		Count int `json:"count"`
		Of    int `json:"of"`
	}
	sizeArgs struct {
		Mean float64 `json:"mean"` // bytes
		Unit float64 `json:"unit"` // bytes
		Most float64 `json:"most"` // pressure
	}
	creditArgs struct {
		Share float64 `json:"share"`           // of the time in which the limit is not known
		Given bool    `json:"given,omitempty"` // the credits at the beginning are known
	}
	shareArgs struct {
		Share float64 `json:"share"` // of the time
	}
)

// periods is how many periods its source has.
func (l *line) periods() int { return len(l.recording().Begin) }

// about is the subject of a line's caveats.
func (l *line) about() caveat.Subject { return subject(l.limit()) }

// absent says why a line has no pressure.
func (l *line) absent() caveat.Caveat {
	if l.load.Absent == "" {
		return gaps.At(model.Warning, l.about(), countOf{l.missing, l.periods()})
	}
	return lacks.At(model.Warning, l.about(), absentMeasure{l.load.Absent})
}

// mostUnsplit is the mean size of operations, as a share of the unit, from which some are
// likely to be larger than the unit.
const mostUnsplit = .5

// doubts are what speaks against the pressure of a line.
func (l *line) doubts(s *Service) (out []caveat.Caveat) {
	n := l.periods()
	if l.missing > 0 {
		def := gaps
		if len(l.of.Cells) > 0 {
			def = outsideCells
		}
		out = append(out, def.At(model.Warning, l.about(), countOf{l.missing, n}))
	}
	if l.load.Lacks != "" {
		out = append(out, atLeast.At(model.Warning, l.about(), absentMeasure{l.load.Lacks}))
	} else if size := l.meanSize(); size > mostUnsplit*l.level.Unit {
		if most, _ := NewSeries(l.recording(), l.load.Most); len(most) > 0 && !math.IsInf(most.peak(), 0) {
			out = append(out, sizesUnknown.At(model.Warning, l.about(), sizeArgs{size, l.level.Unit, most.Mean() / s.Limit}))
		}
	}
	if s.beyond {
		out = append(out, aboveModel.At(model.Warning, l.about(), shareArgs{s.SLP.Max}))
	}
	if l.again && !strings.HasSuffix(l.source, afterRaise) {
		out = append(out, twice.At(model.Info, l.about(), struct{}{}))
	}
	c := l.credits
	switch {
	case l.level.Bucket == nil:
		return out
	case c == nil: // documents do not say how it fills
		return append(out, balanceUnknown.At(model.Warning, l.about(), creditArgs{Share: 1}))
	}
	if unknown := l.creditsUnknown(); unknown > 0 {
		out = append(out, balanceUnknown.At(model.Warning, l.about(), creditArgs{unknown / l.loads.Seconds(), l.given}))
	}
	if c.Overdrawn > 0 {
		out = append(out, overdrawn.At(model.Warning, l.about(), countOf{c.Overdrawn, n}))
	}
	return out
}

// creditsUnknown is the time in s in which the credits do not show whether the base or the burst rate was the limit.
func (l *line) creditsUnknown() (seconds float64) {
	if l.credits == nil {
		return 0
	}
	for i, p := range l.credits.Periods {
		if p.Limit.Hi > p.Limit.Lo {
			seconds += l.loads[i].seconds()
		}
	}
	return seconds
}

// meanSize is that of the operations in bytes, where the limit counts them by size; NaN: not known.
func (l *line) meanSize() float64 {
	if l.level.Quality != levels.Ops || l.level.Unit == 0 || len(l.recordings) > 1 {
		return math.NaN()
	}
	ops := l.level
	ops.Unit = 0
	n, _ := NewSeries(l.recording(), loadOn(ops, l.recording()).Least)
	b, _ := NewSeries(l.recording(), loadOn(levels.Level{Quality: levels.Bytes, Ways: ops.Ways}, l.recording()).Least)
	if n.peak() == 0 {
		return math.NaN()
	}
	return b.Mean() / n.Mean()
}
