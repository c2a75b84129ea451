package evaluation

import (
	"maps"
	"slices"

	"github.com/scalebench/scalebench/internal/caveat"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/scalability"
	"github.com/scalebench/scalebench/internal/stats"
)

// groupLimits looks for limits that the nodes of one group share, as behind the
// uplink of a rack. Two explanations compete for the total of every group at
// every size: each group has a curve of its own, or the fleet has one and the
// groups take part in it by their numbers. Groups are named only if they
// explain the totals better (AICc), and then the fleet's limit, which is only
// the sum of theirs, is not.
func (s *sweep) groupLimits(out *Scaling, fleet curveOfGrowth, opt Options) {
	names := s.groupNames()
	if len(names) < 2 {
		return
	}
	curves, err := s.groupCurves(names)
	if err != nil {
		return // too few observations of some group
	}
	apart, together, err := s.explain(names, curves, fleet)
	if err != nil {
		return
	}
	if apart >= together {
		s.noteEvenGroups(out.Limit, names)
		return
	}
	for _, name := range names {
		if l := s.groupLimit(name, curves[name], opt); l != nil {
			out.Groups = append(out.Groups, *l)
		}
	}
	if len(out.Groups) > 0 {
		out.Limit = nil
	}
}

// groupLimit infers the limit of one group by the same rules as the fleet's. It
// does not warn of a group about which it can infer nothing.
func (s *sweep) groupLimit(name string, c curveOfGrowth, opt Options) *SharedLimit {
	if c.Kind != scalability.Capped {
		return nil
	}
	silent := *s
	silent.notes = nil
	l := silent.limit(c, silent.capInterval(c, opt), s.points())
	if l == nil {
		return nil
	}
	l.Among = model.LabelGroup + "=" + name
	l.Text = caveat.Sentence("within " + l.Among + " " + s.limitWords(*l))
	return l
}

// groupNames lists the groups with at least two subjects active at once; one
// subject shares nothing.
func (s *sweep) groupNames() []string {
	most := make(map[string]int)
	for _, o := range s.observations {
		for name, part := range o.groups {
			most[name] = max(most[name], part.size)
		}
	}
	maps.DeleteFunc(most, func(_ string, size int) bool { return size < 2 })
	return slices.Sorted(maps.Keys(most))
}

// groupCurves fits each group by itself.
func (s *sweep) groupCurves(names []string) (map[string]curveOfGrowth, error) {
	out := make(map[string]curveOfGrowth, len(names))
	for _, name := range names {
		var c curveOfGrowth
		for _, o := range s.observations {
			if part, ok := o.groups[name]; ok {
				c.sizes, c.totals = append(c.sizes, float64(part.size)), append(c.totals, part.total)
			}
		}
		var err error
		if c.Curve, err = scalability.ChooseGrowth(c.sizes, c.totals, s.noise(c.totals)); err != nil {
			return nil, err
		}
		out[name] = c
	}
	return out, nil
}

// roundingNoise is the relative error of a total below which a better fit is
// chance.
const roundingNoise = 1e-9

// explain is how well the totals of groups are explained, as AICc above the
// noise of rounding: each by its own curve, or by its share of the fleet's.
func (s *sweep) explain(names []string, curves map[string]curveOfGrowth, fleet curveOfGrowth) (apart, together float64, err error) {
	var own, common, scale float64 // sums of squares; of the largest total
	n, parameters := 0, 0
	for _, name := range names {
		c := curves[name]
		own += c.SSE
		n += len(c.sizes)
		parameters += c.Kind.Parameters()
		scale = max(scale, roundingNoise*slices.Max(c.totals))
	}
	for _, o := range s.observations {
		for _, name := range names {
			if part, ok := o.groups[name]; ok {
				fitted := fleet.At(float64(o.size)) / float64(o.size) * float64(part.size)
				common += (part.total - fitted) * (part.total - fitted)
			}
		}
	}
	least := float64(n) * scale * scale
	apart, err = stats.AICc(max(own, least), n, parameters+1) // the error variance is one more
	if err == nil {
		together, err = stats.AICc(max(common, least), n, fleet.Kind.Parameters()+1)
	}
	return apart, together, err
}

// noteEvenGroups says that the fleet's limit may as well be one of each group,
// where the groups always had equal shares in it.
func (s *sweep) noteEvenGroups(limit *SharedLimit, names []string) {
	if limit == nil {
		return
	}
	for _, o := range s.observations {
		if o.size < limit.From {
			continue
		}
		for _, name := range names {
			if o.groups[name].size*len(names) != o.size {
				return // uneven: the two explanations were put to the test
			}
		}
	}
	all := make([]caveat.Verbatim, len(names))
	for i, name := range names {
		all[i] = caveat.Verbatim(name)
	}
	s.notes.Add(groupsAlike.Warn(groups{all}))
}
