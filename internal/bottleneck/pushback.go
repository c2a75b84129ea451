package bottleneck

import (
	"cmp"
	"slices"
)

// pushBack tells causes from symptoms: soft resources are full, too, where
// something behind them is (G. Franks et al., "Layered bottlenecks and their
// mitigation", QEST 2006). Full threads or pools are symptoms of busy hardware in
// their own tier or any behind it, and of a full soft resource behind them; the
// deepest one above idle hardware is the cause.
func (s System) pushBack(l Load) (causes []Resource, symptoms []Symptom) {
	all := always(l)
	for _, r := range all {
		of, pushed := s.behind(l, r, all)
		if !pushed {
			causes = append(causes, r)
			continue
		}
		symptoms = append(symptoms, Symptom{l.usage(r), of})
		// Hardware that is nearly full holds up what the full pool lets through.
		if hardware := l.usage(of); !hardware.Full && hardware.Mean >= nearlyFull && !slices.Contains(causes, of) {
			causes = append(causes, of)
		}
	}
	return causes, symptoms
}

// behind is what a soft resource waits for: busy hardware from its own tier on, or what
// the tier in front can receive; hardware of which always some is full; or another soft
// resource behind it.
func (s System) behind(l Load, r Resource, all []Resource) (of Resource, pushed bool) {
	if !r.Kind.Soft() {
		return Resource{}, false
	}
	var busy, atTimes, soft []Resource
	for _, u := range l.Usage {
		full := slices.Contains(all, u.Resource)
		switch {
		case !s.fills(u.Resource, r), u.Node != "" && u.Node != r.Node && !full:
		case u.Kind.Soft():
			if full {
				soft = append(soft, u.Resource)
			}
		case u.Full || u.Mean >= nearlyFull:
			busy = append(busy, u.Resource)
		case u.Partial:
			atTimes = append(atTimes, u.Resource)
		}
	}
	if one, _ := together(l.seconds, atTimes); one < FullShare {
		atTimes = nil
	}
	for _, group := range [][]Resource{busy, atTimes, soft} {
		if len(group) > 0 {
			return slices.MaxFunc(group, func(a, b Resource) int { return cmp.Compare(s.place(a), s.place(b)) }), true
		}
	}
	return Resource{}, false
}

// fills reports whether a soft resource is full where this one is: it is held meanwhile.
func (s System) fills(r, soft Resource) bool {
	switch {
	case r.Kind.Soft():
		return s.place(r) > s.place(soft)
	case r.Kind == LinkIn: // what is behind sends to it, and waits, too
		return s.depth(r.Tier) >= s.depth(soft.Tier)-1
	}
	return s.depth(r.Tier) >= s.depth(soft.Tier)
}

// place is where a request comes to a soft resource: threads at the entry of their
// tier, pools between it and the next.
func (s System) place(r Resource) int {
	if r.Kind == Pool {
		return 2*s.depth(r.Tier) + 1
	}
	return 2 * s.depth(r.Tier)
}
