package model

// Scaling is how the total capacity of a fleet grew with its size, for one
// metric of one workload (ScaleBench, section 5.3 and Fig. 11).
type Scaling struct {
	Workload string   `json:"workload"`
	Metric   string   `json:"metric"`
	Unit     string   `json:"unit"`
	Resource string   `json:"resource,omitempty"`
	Of       Subjects `json:"of"`
	// Points are the sizes that were measured, ascending. The first is 1: the
	// mean of the serial phase, where it was measured.
	Points []ScalingPoint `json:"points"`
	// Fit is the curve through the points; nil with fewer than three sizes.
	Fit *ScalingFit `json:"fit"`
	// Limit is the shared limit that the points show; nil when none does.
	Limit *SharedLimit `json:"limit"`
	// Groups are the limits that the nodes of single groups share, where these
	// explain the points better than one limit of the whole fleet.
	Groups   []SharedLimit `json:"groups,omitempty"`
	Warnings []string      `json:"warnings"`
}

// ScalingPoint is one size of fleet.
type ScalingPoint struct {
	Nodes int `json:"nodes"` // subjects that were active at once
	// Total is the mean over trials of the sum over subjects; Totals the sum
	// of each trial.
	Total  float64   `json:"total"`
	Totals []float64 `json:"totals"`
	CI     *Interval `json:"ci"` // of Total, over trials; nil with one trial
}

// ScalingFit is the curve min(a·n, cap) or a·n, whichever explains the points
// better by AICc.
type ScalingFit struct {
	Model string  `json:"model"` // "linear" or "capped"
	Slope float64 `json:"slope"` // a: capacity a subject adds below the cap
	// Cap is the constant total and Knee the size at which it is reached,
	// cap/a; nil for a linear fit.
	Cap   *float64  `json:"cap"`
	CapCI *Interval `json:"cap_ci"`
	Knee  *float64  `json:"knee"`
}

// SharedLimit is a limit that several subjects share, inferred from totals
// that stay the same while the fleet grows.
type SharedLimit struct {
	Total float64   `json:"total"` // where the sum stays, in the unit of the scaling
	CI    *Interval `json:"ci"`
	From  int       `json:"from"` // smallest size at which it was reached
	To    int       `json:"to"`   // largest size measured
	// Among says who shares it: empty for the whole fleet, or a label with its
	// value, "group=rack1".
	Among string `json:"among,omitempty"`
	// Text is the finding in words: "the sum stays at 300 Mbit/s from 2 to 4
	// nodes".
	Text string `json:"text"`
}

// Ranking orders the resources of a run by how much of them was lost at scale.
type Ranking struct {
	Resources []RankedResource `json:"resources"` // worst first
	// Unknown says what the run cannot tell.
	Unknown []string `json:"unknown"`
}

// RankedResource is one resource with the finding that speaks for it.
type RankedResource struct {
	Rank     int    `json:"rank"`     // from 1; equal where intervals do not tell them apart
	Resource string `json:"resource"` // of the taxonomy, or "workload/metric"
	// Finding is the metric with the largest loss among those of the resource.
	Finding Finding `json:"finding"`
	// Limits are the shared limits that were inferred for it.
	Limits []SharedLimit `json:"limits,omitempty"`
	Text   string        `json:"text"`
}
