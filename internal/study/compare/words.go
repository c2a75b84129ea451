package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
)

// durations are units of which less is done faster.
var durations = []string{"s", "ms", "us", "µs", "ns", "min", "h", "sec/op", "ns/op", "s/op"}

// change says by how much B is more or less than A, in words that suit the unit:
// "12.0 % faster", "8.0 to 16.0 %".
func (c *Comparison) change() (by, interval string) {
	up := *c.Ratio >= 1
	words := [2]string{"lower", "higher"}
	switch {
	case strings.HasSuffix(c.Unit, "/s") && c.Better == model.Higher:
		words = [2]string{"slower", "faster"}
	case c.takesTime():
		words = [2]string{"less time", "more time"}
	}
	lo, hi, word := percent(c.CI.Lo), percent(c.CI.Hi), words[1]
	if !up {
		lo, hi, word = -hi, -lo, words[0]
	}
	return num.Percent(math.Abs(percent(*c.Ratio))) + " " + word, strings.TrimSuffix(num.Percent(lo), " %") + " to " + num.Percent(hi)
}

// takesTime reports whether the metric is a duration that should be short.
func (c *Comparison) takesTime() bool {
	return c.Better == model.Lower && slices.Contains(durations, c.Unit)
}

// sentence is the answer of one comparison.
func (c *Comparison) sentence() string {
	if c.Verdict == Unknown {
		return fmt.Sprintf("Whether %s differs from %s is unknown: %s.", c.B.Name, c.A.Name, c.why())
	}
	if c.Ratio == nil && c.Verdict == Unclear {
		return fmt.Sprintf("It is unclear whether %s differs from %s: the interval of the difference of their means holds 0.", c.B.Name, c.A.Name)
	}
	if c.Ratio == nil {
		return fmt.Sprintf("%s is %s than %s%s; by what factor cannot be said, for the mean of %s is not clearly above 0.", c.B.Name, c.Verdict, c.A.Name, c.favour(), c.A.Name)
	}
	by, interval := c.change()
	verb := map[bool]string{true: "takes", false: "is"}[c.takesTime()]
	chance := map[bool]string{true: ", but that may be chance"}[c.Verdict == Unclear]
	said := fmt.Sprintf("%s %s %s than %s%s (%s)", c.B.Name, verb, by, c.A.Name, chance, interval)
	switch c.Verdict {
	case Better, Worse:
		if strings.HasSuffix(by, "higher") || strings.HasSuffix(by, "lower") {
			said += ", which is " + string(c.Verdict)
		}
		return said + c.favour() + "."
	case Equivalent:
		if *c.Ratio == 1 && c.CI.Lo == c.CI.Hi {
			return fmt.Sprintf("%s and %s are equal in every value.", c.B.Name, c.A.Name)
		}
		return said + ": the difference is within the margin, they are equivalent."
	case Unclear:
		if c.outsider != nil {
			return fmt.Sprintf("It is unclear whether %s differs from %s: typical values are within the margin (%s), "+
				"but %s may differ by %s.", c.B.Name, c.A.Name, interval, c.outsider.words(), c.outsider.most())
		}
		return fmt.Sprintf("It is unclear whether %s differs from %s: %s.", c.B.Name, c.A.Name, said)
	}
	return said + c.favour() + "; which is better is not known: give --better higher or --better lower."
}

// why is the first thing that leaves no answer.
func (c *Comparison) why() string {
	for _, d := range c.doubts {
		if d.Severity == model.Problem {
			return d.Text
		}
	}
	return "there is no interval"
}

// favour says how often B is better in a pair of values, one of each side.
func (c *Comparison) favour() string {
	if c.A12 == nil {
		return ""
	}
	share := *c.A12
	if c.Better == model.Lower {
		share = 1 - share
	}
	n := int(math.Round(100 * share))
	if c.Better == "" {
		return fmt.Sprintf("; in %d of 100 pairs %s has the higher value", n, c.B.Name)
	}
	return fmt.Sprintf("; of 100 pairs %d favour %s", n, c.B.Name)
}

// answer is the one sentence for all comparisons.
func (r *Result) answer() string {
	if len(r.Comparisons) == 1 {
		return r.Comparisons[0].sentence()
	}
	var parts []string
	for _, v := range []Verdict{Worse, Better, Higher, Lower, Equivalent, Unclear, Unknown} {
		var names []string
		for _, c := range r.Comparisons {
			if c.Verdict == v {
				names = append(names, c.label(len(r.Others) > 1))
			}
		}
		if len(names) > 0 {
			parts = append(parts, fmt.Sprintf("%s in %d (%s)", v, len(names), num.List(names)))
		}
	}
	who := "Against " + r.Base + " the others are "
	if len(r.Others) == 1 {
		who = "Against " + r.Base + ", " + r.Others[0] + " is "
	}
	return who + strings.Join(parts, ", ") + "."
}

// label names a comparison in a list, with its change where it differs.
func (c *Comparison) label(several bool) string {
	name := c.named(several)
	if c.Ratio != nil && c.Verdict.different() {
		name += " by " + percentOf(*c.Ratio)
	}
	return name
}

// named is the metric, of several others with whom it is.
func (c *Comparison) named(several bool) string {
	if several {
		return c.B.Name + " " + c.key().Name()
	}
	return c.key().Name()
}

// how says by which rules the comparisons were made, a sentence each.
func (r *Result) how() []string {
	var out []string
	add := func(text string) {
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	for _, c := range r.Comparisons {
		if c.Method == "" {
			continue
		}
		add(c.By + ".")
		add(map[string]string{
			methodShift:       "The ratio is Hodges and Lehmann's: the middle one of the ratios of every value of B to every one of A, with the interval of ranks.",
			methodSignedShift: "The ratio is Hodges and Lehmann's for pairs: the middle one of the means of every two logarithms of B/A, with the interval of signed ranks.",
			methodT:           "There are too few values for ranks: the ratio is that of geometric means, with Welch's interval.",
			methodPairedT:     "There are too few pairs for ranks: the ratio is the geometric mean of B/A, with Student's interval.",
			methodMeans:       "The ratio is that of means, with Fieller's interval for independent samples.",
			methodPairedMeans: "The ratio is that of means, with Fieller's interval for pairs.",
			methodEffective:   "Neighbours depend on each other: the ratio is that of means (of typical values: of geometric ones), with Student's interval for as many values as they count for.",
			methodRanges: "Neighbours depend on each other, and the ranges of both sides are further apart than " +
				"that takes them: the interval is that of the ranges, wider by what dependence explains.",
			methodEqual: "All values of a side are equal: the ratio is exact.",
			methodDigits: "All values of a side are equal: the interval is half a unit of their last digit on " +
				"either side; a clock or meter with coarser steps may hide more.",
			methodDifference: "The mean of the base is not clearly above 0: the difference of means decides, and " +
				"there is no ratio.",
		}[c.Method])
	}
	if n := r.tested(); n > 1 {
		add(fmt.Sprintf("%d comparisons: those that differ are chosen after Benjamini and Hochberg, so that at most %s of them are expected to be chance; the intervals are wider to match (Benjamini and Yekutieli).", n, num.Percent(100*(1-r.Level))))
	}
	return out
}

// tested is how many comparisons have a test.
func (r *Result) tested() int {
	n := 0
	for _, c := range r.Comparisons {
		if c.P != nil {
			n++
		}
	}
	return n
}
