package pressure

import (
	"fmt"

	"github.com/scalebench/scalebench/internal/caveat"
)

// Arguments of caveats.
type (
	// lackedMeasure is one that a source does not have, by its name in package telemetry.
	lackedMeasure struct {
		Measure caveat.Verbatim `json:"measure"`
	}
	// somePeriods are a number of periods among all.
	somePeriods struct {
		Count int `json:"count"`
		All   int `json:"all"`
	}
	// countRatio is what the provider counts, as a multiple of our operations.
	countRatio struct {
		Ratio float64 `json:"ratio"`
	}
)

var (
	pressureUnknown = caveat.Define("pressure_unknown", func(a lackedMeasure) string {
		return fmt.Sprintf("the source does not have %s, so the pressure of this limit is not known; record it", a.Measure)
	})
	pressureAtLeast = caveat.Define("pressure_at_least", func(a lackedMeasure) string {
		return fmt.Sprintf("the source does not have %s: operations may count for more, and the pressure may be higher; "+
			"record it", a.Measure)
	})
	periodsMissing = caveat.Define("periods_missing", func(a somePeriods) string {
		return fmt.Sprintf("%d of %d periods have no value; they do not count, and end a run", a.Count, a.All)
	})
	balanceOverdrawn = caveat.Define("balance_overdrawn", func(a somePeriods) string {
		return fmt.Sprintf("in %d of %d periods the load was more than the bucket allows; the model or the balance at the "+
			"begin does not hold", a.Count, a.All)
	})
	balanceUnknown = caveat.Define("balance_unknown", func(struct{}) string {
		return "the balance of credits is not known; give the one at the begin, or record it"
	})
	demandClipped = caveat.Define("demand_clipped", func(struct{}) string {
		return "the limit is saturated: the demand is at least the present throughput"
	})
	sizeUnknown = caveat.Define("size_unknown", func(a countRatio) string {
		return fmt.Sprintf("the provider counts %.3g times our operations, which is not reliably more; the normalised size "+
			"is not known", a.Ratio)
	})
)

// Caveats are those of this package.
var Caveats = caveat.Table{pressureUnknown, pressureAtLeast, periodsMissing, balanceOverdrawn, balanceUnknown,
	demandClipped, sizeUnknown}
