package pressure

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/levels"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/telemetry"
)

// line is a limit of a service, with its pressure over time.
type line struct {
	source, node, service string // service is empty: all volumes of the node
	model                 *levels.Model
	set                   map[string]string // inputs of the model
	of                    levels.Levels
	level                 levels.Level
	// recordings are that of the service, or those of all volumes of the node.
	recordings []*telemetry.Recording
	load       Load   // of a single recording
	loads      Series // what counts against the limit, a second
	// series is the pressure; most is what it can be at most, where the balance of a
	// bucket is not known.
	series, most Series
	credits      *Credits
	given        bool // the credits at the beginning
	missing      int  // periods without a value
	again        bool // another source has the same limit
}

// lines are those of all recordings, by node and service, and the services that no model
// fits.
func (p *Params) lines(recordings []telemetry.Recording) (out []line, without []telemetry.Recording, err error) {
	models, err := p.parse()
	if err != nil {
		return nil, nil, err
	}
	used := &used{p, make(map[int]bool), make(map[string]bool), make(map[string]bool)}
	add := func(of []*telemetry.Recording, scopes ...levels.Scope) (fits bool) {
		for _, scope := range scopes {
			more, failed := p.linesOf(models, of, scope, used)
			if err == nil { // others may be the same
				err = failed
			}
			out, fits = append(out, more...), fits || len(more) > 0
		}
		return fits
	}
	for i := range recordings {
		scopes := []levels.Scope{levels.OfVolume, levels.OfNode}
		if kindOf(recordings[i].Service) == levels.Volume {
			scopes = scopes[:1]
		}
		if !add([]*telemetry.Recording{&recordings[i]}, scopes...) {
			without = append(without, recordings[i])
		}
	}
	for _, volumes := range wholeNodes(recordings) {
		add(volumes, levels.OfNode)
		out = p.shared(out, volumes)
	}
	if err != nil {
		return nil, nil, err
	}
	slices.SortStableFunc(out, func(a, b line) int {
		return cmp.Or(strings.Compare(a.node, b.node), strings.Compare(a.service, b.service))
	})
	for i := range out {
		out[i].again = slices.ContainsFunc(out[:i], out[i].same)
	}
	if p.live == nil {
		err = used.check(recordings)
	}
	return out, without, err
}

// parse reads the models.
func (p *Params) parse() (models []*levels.Model, err error) {
	if p.parsed != nil {
		return p.parsed, nil
	}
	models = make([]*levels.Model, len(p.Models))
	for i, u := range p.Models {
		if models[i], err = levels.Open(u.Name, u.Text); err != nil {
			return nil, err
		}
	}
	return models, nil
}

// shared puts one limit of the node in place of those that its volumes have and share. One volume has it alone.
func (p *Params) shared(lines []line, volumes []*telemetry.Recording) []line {
	if len(volumes) < 2 {
		return lines
	}
	var out []line
	lines = slices.DeleteFunc(lines, func(l line) bool {
		if l.node != volumes[0].Node || l.level.Scope != levels.OfNode {
			return false
		}
		of := line{node: l.node, model: l.model, set: l.set, of: l.of, level: l.level, recordings: volumes}
		if !slices.ContainsFunc(out, func(x line) bool { return x.level.Name() == of.level.Name() }) {
			of.press(p.Credits, p.live[of.limit()])
			out = append(out, of)
		}
		return true
	})
	return append(lines, out...)
}

// same reports whether another line is of the same limit: of the same service, by the
// name of the node as far as both sources say it.
func (l *line) same(other line) bool {
	return l.service == other.service && l.level.Name() == other.level.Name() && l.source != other.source &&
		(l.node == other.node || l.node == "" || other.node == "")
}

// kindOf is what a service is.
func kindOf(service string) levels.Service {
	switch service {
	case telemetry.Network:
		return levels.Network
	case telemetry.Processor:
		return levels.Processor
	}
	return levels.Volume
}

// wholeNodes are the volumes of each node, over all sources: what a limit of the node
// counts. A volume that several sources have is one; where these overlap one of them counts.
func wholeNodes(recordings []telemetry.Recording) (out [][]*telemetry.Recording) {
	var volumes []telemetry.Recording
	for i, r := range recordings {
		if kindOf(r.Service) == levels.Volume && !stacked(&recordings[i], recordings) &&
			!strings.HasSuffix(r.Source, afterRaise) {
			r.Source = ""
			volumes = append(volumes, r)
		}
	}
	volumes = telemetry.Join(volumes)
	for i := range volumes {
		r := &volumes[i]
		k := slices.IndexFunc(out, func(of []*telemetry.Recording) bool { return of[0].Node == r.Node })
		if k < 0 {
			k, out = len(out), append(out, nil)
		}
		out[k] = append(out[k], r)
	}
	return out
}

// oneMachine reports whether two recordings are of devices of one machine: of one source,
// or of one node by its name.
func oneMachine(a, b *telemetry.Recording) bool {
	return a.Node == b.Node && (a.Source == b.Source || a.Node != "")
}

// stacked reports whether a volume lies on disks that are recorded: these do all that it
// does.
func stacked(r *telemetry.Recording, all []telemetry.Recording) bool {
	return r.Stacked && slices.ContainsFunc(all, func(x telemetry.Recording) bool {
		return oneMachine(&x, r) && kindOf(x.Service) == levels.Volume && !x.Stacked
	})
}

// linesOf are the limits of a service, or of all volumes of a node, by the model that
// fits most closely.
func (p *Params) linesOf(models []*levels.Model, of []*telemetry.Recording, scope levels.Scope, used *used) ([]line,
	error) {
	r, service := of[0], of[0].Service
	if scope == levels.OfNode && kindOf(service) == levels.Volume {
		service = ""
	}
	best, closest := -1, -1
	for i, u := range p.Models {
		near, fits := u.fits(r.Node, service)
		if fits && models[i].Service == kindOf(r.Service) && models[i].Scope == scope && near >= closest {
			best, closest = i, near
		}
	}
	if best < 0 {
		return nil, nil
	}
	used.models[best] = true
	set := p.inputs(r.Source, r.Node, service, models[best], used)
	expected, err := models[best].Levels(set)
	if err != nil {
		return nil, fmt.Errorf("what %s of %s may expect by the model %s: %w", LimitOf{Service: service}.service(),
			cmp.Or(r.Node, r.Source), models[best].Name, bySet(err))
	}
	first := line{source: r.Source, node: r.Node, service: service, model: models[best], set: set, of: expected,
		recordings: of}
	if len(expected.Cells) > 0 {
		first.level = levels.Level{Quality: levels.Ops, Ways: both}
		first.measure()
		return []line{first}, nil
	}
	out := slices.Repeat([]line{first}, len(expected.Limits))
	for i := range out {
		out[i].level = expected.Limits[i]
		out[i].press(p.Credits, p.live[out[i].limit()])
	}
	return out, nil
}

// bySet names the inputs of a model that are wrong by the flag that sets them.
func bySet(err error) error {
	for _, one := range model.Single(err) {
		if bad, ok := errors.AsType[*model.InputError](one); ok && bad.Path != "" {
			bad.Flag, bad.Path = "--set "+bad.Path, ""
		}
	}
	return err
}

var both = []levels.Way{levels.Read, levels.Write}

// recording is that of a single service.
func (l *line) recording() *telemetry.Recording { return l.recordings[0] }

// limit names the limit.
func (l *line) limit() LimitOf { return LimitOf{l.node, l.service, l.level.Name()} }

// press computes the pressure in each period. credits is the share of a full bucket at
// the begin, and after the balance before, from which it goes on.
func (l *line) press(credits string, after *Credit) {
	var all []Series
	for _, r := range l.recordings {
		if l.load = loadOn(l.level, r); l.load.Least == nil {
			return
		}
		s, missing := NewSeries(r, l.load.Least)
		all, l.missing = append(all, s), l.missing+missing
	}
	if l.loads = all[0]; len(all) > 1 {
		l.loads, l.missing = Together(all...)
	}
	l.series = l.loads.each(l.level.Rate.Pressure)
	b := l.level.Bucket
	if b == nil {
		return
	}
	if math.IsNaN(b.Size) || math.IsNaN(b.Fill) {
		for i := range l.series { // at any moment there may be credits
			l.series[i].Ceiling = b.Burst / l.level.Rate.Level()
		}
		return
	}
	start, known := shareOf(credits)
	if l.given = known; !known {
		start = math.NaN()
	}
	readings, _ := NewSeries(l.recording(), l.recording().Rates[telemetry.Credits])
	c := Follow(l.level, start, after, l.loads, readings)
	l.credits, l.series, l.most = &c, c.Least, c.Most
}

// measure computes the pressure on measured cells: what was observed, over what was
// measured of operations of that size and mix.
func (l *line) measure() {
	r := l.recording()
	n, b, reads := loadOn(l.level, r).Least, loadOn(levels.Level{Quality: levels.Bytes, Ways: both}, r).Least,
		r.Rates[telemetry.ReadOps]
	if n == nil || b == nil || reads == nil {
		l.load.Absent = telemetry.ReadOps
		return
	}
	pressures := make([]float64, len(n))
	for i := range n {
		if n[i] == 0 {
			continue
		}
		pressures[i] = math.NaN()
		if d, inside := l.of.Measured(b[i]/n[i], reads[i]/n[i]); inside {
			pressures[i] = d.Pressure(n[i])
		}
	}
	l.load.Least = n
	l.loads, _ = NewSeries(r, n)
	l.series, l.missing = NewSeries(r, pressures)
}

const allowedShare = "full, empty, or a percentage such as 70%"

// shareOf reads full, empty or a percentage.
func shareOf(text string) (float64, bool) {
	switch text {
	case "full":
		return 1, true
	case "empty":
		return 0, true
	}
	var p study.Percent
	if p.Set(text) != nil || !(p >= 0 && p <= 100) {
		return 0, false
	}
	return float64(p) / 100, true
}

// used is which models and inputs that were given fit something.
type used struct {
	p           *Params
	models      map[int]bool
	set, inputs map[string]bool // inputs: that any of the models has
}

// check refuses what fits nothing: a name that is misspelt would change the answer.
func (u *used) check(recordings []telemetry.Recording) (err error) {
	refuse := func(flag, problem, allowed string) {
		err = errors.Join(err, &model.InputError{Flag: flag, Problem: problem, Allowed: allowed})
	}
	services := "the services are " + num.List(servicesOf(recordings))
	for i, m := range u.p.Models {
		if !u.models[i] && m.For != "" {
			refuse("--model "+m.For+"="+m.Name, fmt.Sprintf("there is no service %q that the model fits", m.For), services)
		} else if !u.models[i] && len(u.models) > 0 {
			refuse("--model "+m.Name, "the model fits no service, or only such as another one fits more closely", services)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(u.p.Set)) {
		of, input, _ := cutLast(key)
		switch {
		case u.set[key] || len(u.models) == 0:
		case !u.inputs[input]:
			refuse("--set "+key, fmt.Sprintf("no model has the input %q", input),
				"the inputs are "+num.List(slices.Sorted(maps.Keys(u.inputs))))
		default:
			refuse("--set "+key, fmt.Sprintf("there is no service %q with such a model", of), services)
		}
	}
	return err
}
