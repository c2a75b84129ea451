package bottleneck

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Quarter is how many times as much of a suspect a proof gives; of what is counted, the
// next whole number.
const Quarter = 1.25

// Raise is a resource of which there is Factor times as much.
type Raise struct {
	Resource
	Factor float64 `json:"factor"`
	// Has is what each host of its tier has without: cores, a size, or bytes a second.
	Has float64 `json:"-"`
}

// Raises are a quarter more of all that is named; why says what of it there cannot be
// more of, empty: there can. size is that of threads or a pool of each host, or the
// rate of its link, where it can be set, and else 0.
func (s System) Raises(a Answer, size func(Resource) int) (out []Raise, why string) {
	for _, b := range a.Bottlenecks {
		r := Raise{Resource: b.Resource, Factor: Quarter, Has: float64(size(b.Resource))}
		if r.Kind.Soft() && r.Has > 0 {
			r.Factor = math.Ceil(r.Has*Quarter) / r.Has
		} else if r.Kind == CPU {
			r.Has = s.quota(r.Tier, a.Load)
		}
		why, out = cmp.Or(why, s.fixed(r)), append(out, r)
	}
	return out, why
}

// quota is the processor of a host of a tier at a load, in cores; NaN: not known.
func (s System) quota(tier string, users int) float64 {
	for _, x := range (Load{trials: s.at(users)}).services(Resource{Tier: tier}) {
		if q := meanOf(x.Signals[SignalQuota]); q > 0 {
			return q
		}
	}
	return math.NaN()
}

// fixed says why there cannot be more of a resource; empty: there can.
func (s System) fixed(r Raise) string {
	switch {
	case r.Kind != CPU && r.Has > 0:
		return ""
	case r.Kind.Link():
		return "the rate of a link is changed where a lab sets it for the host alone (no uplink, no busy hours, no limits.link of a service): change it yourself, run again, and set both runs beside each other"
	case r.Kind.Soft():
		return fmt.Sprintf("its service does not say which variable of its environ holds the size of the %s (sizes: {%s: NAME})", r, r.Kind)
	case r.Shared():
		return "tiers share that host, and it has no limit of a service that could be raised"
	case !(r.Has > 0):
		return "its limit is not known"
	}
	for t, x := range (Load{trials: s.Trials}).services(r.ofTier()) {
		if has := t.Cores[x.Node]; has > 0 && Lacks(has, r.Has) {
			return fmt.Sprintf("node %s has %.4g processors, and %.4g would be needed: give the service a limit (limits.cpu) that leaves a quarter", x.Node, has, r.Has*Quarter)
		}
	}
	return ""
}

// Lacks reports whether a node with so many processors has no quarter more than a limit.
func Lacks(processors, limit float64) bool { return limit*Quarter > processors*(1+1e-9) }

// What stands between the parts of a label.
const (
	labelFactor = " ×"
	labelAnd    = " + "
)

// RaiseLabel names raises: "processor of app ×1.25 + processor of db ×1.25".
func RaiseLabel(all []Raise) string {
	var parts []string
	for _, r := range all {
		parts = append(parts, fmt.Sprintf("%s%s%.4g", r.Resource, labelFactor, r.Factor))
	}
	return strings.Join(parts, labelAnd)
}

// Raised are those of a label; none: resources of that name were not measured.
func (a Answer) Raised(label string) (out []Raise) {
	for part := range strings.SplitSeq(label, labelAnd) {
		name, by, _ := strings.Cut(part, labelFactor)
		factor, err := strconv.ParseFloat(by, 64)
		for _, l := range a.Loads {
			i := slices.IndexFunc(l.Usage, func(u Usage) bool { return u.String() == name })
			if i >= 0 && err == nil {
				out = append(out, Raise{Resource: l.Usage[i].Resource, Factor: factor})
				break
			}
		}
	}
	return out
}
