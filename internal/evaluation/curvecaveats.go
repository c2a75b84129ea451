package evaluation

import (
	"fmt"
	"math"
	"strings"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
)

// What an index lacks.
var (
	noSummary = caveat.Define("no_summary", func(a caveat.Cause) string {
		return "the capacities cannot be summarised: " + string(a.Why)
	})
	noIndex = caveat.Define("no_index", func(a caveat.Cause) string {
		return "the index cannot be computed: " + string(a.Why)
	})
	noInterval = caveat.Define("no_interval", func(a caveat.Cause) string { return "no interval: " + string(a.Why) })
	oneSubject = caveat.Define("no_interval", func(a single) string {
		return fmt.Sprintf("one %s in %s has no interval; at least 2 %ss or 2 complete trials that differ are needed, 6 %ss "+
			"and 3 trials are better", a.Of, num.Count(a.Trials, "trial"), a.Of, a.Of)
	})
	unbounded = caveat.Define("no_interval", func(a measuredAs) string {
		return fmt.Sprintf("the serial capacities differ so much that the interval has no bounds; measure more %ss, or "+
			"equal ones", a.Of)
	})
	noScatter = caveat.Define("no_scatter", func(a resolvedOnly) string {
		return fmt.Sprintf("nothing scatters from %s to %s or from trial to trial: the interval is how well the values "+
			"themselves are known",
			a.Of, a.Of)
	})
	copiedRows = caveat.Define("no_scatter", func(a measuredAs) string {
		return fmt.Sprintf("every %s has exactly the same two values, as a mean has that was copied into all rows; there is "+
			"no scatter to compute an interval from", a.Of)
	})
	tooWide = caveat.Define("too_wide", func(a scattered) string {
		text := "the interval contains every degradation up to a total loss: "
		if a.Trials > 0 {
			return text + num.Count(a.Trials, "trial") + " with this much scatter allow no conclusion; add trials, or let " +
				"tasks take longer"
		}
		return text + fmt.Sprintf("%s with this much scatter allow no conclusion; measure more %ss, or 3 or more trials",
			num.Count(a.Nodes, string(a.Of)), a.Of)
	})
	unclear = caveat.Define("unclear", func(a undecided) string {
		return fmt.Sprintf("unclear: a loss of up to %s cannot be excluded, nor that there is none; %s",
			num.Percent(a.Most), a.settles())
	})
	oneTrial = caveat.Define("one_trial", func(struct{}) string {
		return "one parallel trial: the interval cannot cover what differs from trial to trial; use 3 or more"
	})
	trialsDiffer = caveat.Define("trials_differ", func(a indexRange) string {
		return fmt.Sprintf("trials differ more than what happens within them explains (CDI from %.1f %% to %.1f %%): "+
			"something that all %ss share changed between them; add trials", a.Lo, a.Hi, a.Of)
	})
	counterDiffers = caveat.Define("counter_disagrees", func(a twoRates) string {
		return fmt.Sprintf("node %s reported %s = %s %s but its progress counter says %s %s, %.0f %% off: the workload "+
			"spends time that its counter does not see, or one of the two is wrong",
			a.Node, a.Metric, number(a.Reported), a.Unit, number(a.Counted), a.CounterUnit, a.Off)
	})
)

type (
	single struct {
		Of     Subjects `json:"of"`
		Trials int      `json:"trials"`
	}
	resolvedOnly struct {
		Of Subjects `json:"of"`
	}
	// scattered: Trials is 0 where the interval is over nodes.
	scattered struct {
		Of     Subjects `json:"of"`
		Nodes  int      `json:"nodes"`
		Trials int      `json:"trials,omitempty"`
	}
	// undecided is what would make an unclear finding clear.
	undecided struct {
		Of   Subjects `json:"of"`
		Most float64  `json:"most"` // loss that is not excluded, in points
		// Resolved: what was measured is known no better, so that more of the same
		// settles nothing.
		Resolved bool `json:"resolved,omitempty"`
		// MoreTrials, each of so many Seconds (0: not known), or, of an interval over
		// nodes, NodesWanted in all.
		MoreTrials  int     `json:"more_trials,omitempty"`
		Seconds     float64 `json:"seconds,omitempty"`
		NodesWanted int     `json:"nodes_wanted,omitempty"`
	}
	indexRange struct {
		Of Subjects `json:"of"`
		Lo float64  `json:"lo"`
		Hi float64  `json:"hi"`
	}
	twoRates struct {
		Node        model.NodeID    `json:"node"`
		Metric      caveat.Verbatim `json:"metric"`
		Reported    float64         `json:"reported"`
		Unit        caveat.Verbatim `json:"unit"`
		Counted     float64         `json:"counted"`
		CounterUnit caveat.Verbatim `json:"counter_unit"`
		Off         float64         `json:"off"` // in percent
	}
)

func (a undecided) settles() string {
	switch {
	case a.Resolved:
		return "more of the same does not settle it, for what was measured is known no better: let tasks take longer, or " +
			"report more digits"
	case a.MoreTrials > 0:
		text := num.Count(a.MoreTrials, "more trial") + " would settle it"
		if a.Seconds > 0 {
			text += ", about " + num.Seconds(float64(a.MoreTrials)*a.Seconds)
		}
		return text
	}
	return fmt.Sprintf("3 or more trials would tell for these %ss, about %d %ss for others of their kind", a.Of,
		a.NodesWanted, a.Of)
}

// What the growth of totals with the size does not show.
var (
	sizeMissing = caveat.Define("missing_values", func(a missingAtSize) string {
		return fmt.Sprintf("%s: %s gave no usable %s; left out", a.At, named(a.At.Of, a.Nodes), a.Metric)
	})
	sizeOverlap = caveat.Define("overlap", func(a overlapAtSize) string {
		return fmt.Sprintf("%s: its %ss were active together for %.0f %% of the time, or when is not known; left out", a.At,
			a.At.Of, 100*a.Overlap)
	})
	sizesUneven = caveat.Define("missing_values", func(a leftOut) string {
		return "left out of the growth with size, because not measured at every size: " + listed(a.Trials)
	})
	sizesLost = caveat.Define("sizes_lost", func(a lostSizes) string {
		return fmt.Sprintf("sizes left out of the growth, because no trial that counts measured them: %s: %s",
			listed(a.Sizes), listed(a.Trials))
	})
	sizeSummary = caveat.Define("no_summary", func(a causeAtSize) string {
		return fmt.Sprintf("the totals of size %d cannot be summarised: %s", a.Size, a.Error)
	})
	oneSize = caveat.Define("one_size", func(a sizesWanted) string {
		return fmt.Sprintf("the sum of %s is %s; one size cannot show whether that is a shared limit: %s", a.count(a.Size),
			a.amount(a.Total), a.advice())
	})
	onePastKnee = caveat.Define("one_size", func(a kneeAlone) string {
		return fmt.Sprintf("the sum seems to stop at %s, but one size past the knee at %.1f cannot distinguish a limit that "+
			"all %ss share from a loss of each one: %s", a.amount(a.Total), a.Knee, a.Of, a.advice())
	})
	fewSizes = caveat.Define("few_sizes", func(a totalsOfSizes) string {
		return fmt.Sprintf("%d totals of %d sizes are too few to choose a curve, 5 are needed: add sizes or trials",
			a.Totals, a.Sizes)
	})
	noCurve     = caveat.Define(CodeNoCurve, func(a caveat.Cause) string { return "no curve: " + string(a.Why) })
	curveMisses = caveat.Define(CodeNoCurve, func(a missedSize) string {
		return fmt.Sprintf("no curve describes the totals: the best has %s with %s, where %s were measured; look at the "+
			"sizes one by one",
			a.amount(a.Curve), a.count(a.Size), a.amount(a.Total))
	})
	capInterval = caveat.Define("no_interval", func(a capCause) string {
		return "the limit has no interval: " + string(a.Error)
	})
	fallsPeak = caveat.Define("falls", func(a peaked) string {
		return fmt.Sprintf("%s: that is contention or a collapse, not a constant limit; use no more than %s, or find what "+
			"they wait for",
			a.text(), a.count(a.Size))
	})
	fallsPast = caveat.Define("falls", func(a pastKnee) string {
		return fmt.Sprintf("past %.1f %ss the sum falls, by %s up to the largest fleet: that is contention, not a constant "+
			"limit",
			a.Knee, a.Of, a.amount(-a.Total))
	})
	scatters = caveat.Define("scatter", func(a knee) string {
		return fmt.Sprintf("the sums past %.1f %ss scatter so much that they may still grow: no limit is inferred; add "+
			"trials", a.Knee, a.Of)
	})
	stillGrows = caveat.Define("still_grows", func(a pastKnee) string {
		return fmt.Sprintf("past %.1f %ss the sum grows more slowly, but it grows, by %s up to the largest fleet: no "+
			"constant limit was reached",
			a.Knee, a.Of, a.amount(a.Total))
	})
	noLevelTest = caveat.Define("no_test", func(a untested) string {
		return fmt.Sprintf("cannot test whether the sum stays at %s: %s", a.amount(a.Total), a.Error)
	})
	groupsAlike = caveat.Define("groups_alike", func(a groups) string {
		return "the groups " + num.List(a.Groups) + " were always active in equal parts, so the run cannot show whether " +
			"the whole fleet shares the limit or each group has its own"
	})
)

type (
	// Sum is a total of subjects, and in what unit and of which resource it is.
	Sum struct {
		Of       Subjects        `json:"of"`
		Total    float64         `json:"total"`
		Unit     caveat.Verbatim `json:"unit"`
		Resource caveat.Verbatim `json:"resource,omitempty"`
	}
	missingAtSize struct {
		At     stepOfSize      `json:"at"`
		Nodes  []model.NodeID  `json:"nodes"`
		Metric caveat.Verbatim `json:"metric"`
	}
	overlapAtSize struct {
		At      stepOfSize `json:"at"`
		Overlap float64    `json:"overlap"`
	}
	// stepOfSize is a step of a sweep.
	stepOfSize struct {
		Phase model.Phase `json:"phase"`
		Size  int         `json:"size"`
		Of    Subjects    `json:"of"`
		Trial int         `json:"trial"`
	}
	lostSizes struct {
		Sizes  []size         `json:"sizes"`
		Trials []lackingTrial `json:"trials"`
	}
	causeAtSize struct {
		Size  int             `json:"size"`
		Error caveat.Verbatim `json:"error"`
	}
	sizesWanted struct {
		Sum
		Size int `json:"size"`
		Wanted
	}
	kneeAlone struct {
		Sum
		Wanted
	}
	// Wanted is what to measure to see at least two sizes past a knee: Sizes, or, where
	// there are none, a larger fleet.
	Wanted struct {
		Knee  float64 `json:"knee"`
		Sizes []int   `json:"sizes,omitempty"`
	}
	totalsOfSizes struct {
		Totals int `json:"totals"`
		Sizes  int `json:"sizes"`
	}
	missedSize struct {
		Sum
		Size  int     `json:"size"`
		Curve float64 `json:"curve"`
	}
	capCause struct {
		Error caveat.Verbatim `json:"error"`
	}
	peaked struct {
		Sum
		Size     int     `json:"size"` // that has the largest total
		Last     float64 `json:"last"` // total of the largest size
		LastSize int     `json:"last_size"`
	}
	knee struct {
		Of   Subjects `json:"of"`
		Knee float64  `json:"knee"`
	}
	// pastKnee: Total is by how much the sum grows.
	pastKnee struct {
		Sum
		Knee float64 `json:"knee"`
	}
	untested struct {
		Sum
		Error caveat.Verbatim `json:"error"`
	}
	groups struct {
		Groups []caveat.Verbatim `json:"groups"`
	}
)

func (s Sum) amount(v float64) string { return AmountText(v, string(s.Unit), string(s.Resource)) }
func (s Sum) count(n int) string      { return num.Count(n, string(s.Of)) }

func (a stepOfSize) String() string {
	return fmt.Sprintf("%s with %s, trial %d", a.Phase, num.Count(a.Size, string(a.Of)), a.Trial)
}

func (a sizesWanted) advice() string { return a.Wanted.advice(a.Of) }
func (a kneeAlone) advice() string   { return a.Wanted.advice(a.Of) }

func (w Wanted) advice(of Subjects) string {
	if len(w.Sizes) == 0 {
		return fmt.Sprintf("measure a larger fleet, at two sizes of more than %d %ss", int(math.Ceil(w.Knee)), of)
	}
	return "measure more sizes: sizes: " + strings.ReplaceAll(fmt.Sprint(w.Sizes), " ",
		", ") // as the experiment file takes them
}

func (a peaked) text() string {
	return fmt.Sprintf("the sum is largest with %s, %s, and falls to %s with %d",
		a.count(a.Size), a.amount(a.Total), a.amount(a.Last), a.LastSize)
}
