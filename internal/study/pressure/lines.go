package pressure

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
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
	node, service string // service is empty: all volumes of the node
	of            levels.Levels
	level         levels.Level
	recording     *telemetry.Recording
	parts         []telemetry.Recording // of a whole node: its volumes
	load          Load
	loads         Series // what counts against the limit, a second
	// series is the pressure; most is what it can be at most, where the balance of a
	// bucket is not known.
	series, most Series
	credits      *Credits
	missing      int  // periods without a value
	chosen       bool // the level is chosen by a word, such as a type, not by an amount
}

// lines are those of all recordings, by node and service, and the services that no model
// fits.
func (p *Params) lines(recordings []telemetry.Recording) (out []line, without []telemetry.Recording, err error) {
	models := make([]*levels.Model, len(p.Models))
	for i, u := range p.Models {
		if models[i], err = u.model(); err != nil {
			return nil, nil, err
		}
	}
	whole, parts := wholeNodes(recordings)
	if err := p.unused(models, recordings, whole); err != nil {
		return nil, nil, err
	}
	for i := range recordings {
		r := &recordings[i]
		var found int
		for _, scope := range []levels.Scope{levels.OfVolume, levels.OfNode} {
			if scope == levels.OfNode && kindOf(r.Service) == levels.Volume {
				continue // see below
			}
			more, err := p.linesOf(models, r, nil, scope)
			if err != nil {
				return nil, nil, err
			}
			out, found = append(out, more...), found+len(more)
		}
		if found == 0 {
			without = append(without, *r)
		}
	}
	for i, parts := range parts {
		more, err := p.linesOf(models, &whole[i], parts, levels.OfNode)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, more...)
	}
	slices.SortStableFunc(out, func(a, b line) int {
		return cmp.Or(strings.Compare(a.node, b.node), strings.Compare(a.service, b.service))
	})
	return out, without, nil
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

// wholeNodes are the sums over the volumes of each node, which a limit of the node counts,
// and these volumes.
func wholeNodes(recordings []telemetry.Recording) (whole []telemetry.Recording, parts [][]telemetry.Recording) {
	nodes := make(map[[2]string][]telemetry.Recording)
	var names [][2]string
	for _, r := range recordings {
		if kindOf(r.Service) == levels.Volume && !stacked(&r, recordings) {
			key := [2]string{r.Source, r.Node}
			if nodes[key] == nil {
				names = append(names, key)
			}
			nodes[key] = append(nodes[key], r)
		}
	}
	for _, name := range names {
		whole, parts = append(whole, telemetry.Sum(nodes[name])), append(parts, nodes[name])
	}
	return whole, parts
}

// devices are names of kernels: of devices that lie on others, and of partitions.
var devices = regexp.MustCompile(`^(?:(?:dm-|md|loop)\d+|(nvme\d+n\d+|mmcblk\d+)p\d+|((?:[hsv]|xv)d[a-z]+)\d+)$`)

// stacked reports whether a volume lies on others that are recorded: what it does is done by
// these as well.
func stacked(r *telemetry.Recording, all []telemetry.Recording) bool {
	below := "" // of a partition
	if m := devices.FindStringSubmatch(r.Service); m != nil {
		below = m[1] + m[2]
	} else if !r.Stacked {
		return false
	}
	return slices.ContainsFunc(all, func(x telemetry.Recording) bool {
		same := x.Source == r.Source && x.Node == r.Node
		if below != "" {
			return same && x.Service == below
		}
		return same && kindOf(x.Service) == levels.Volume && !x.Stacked && !devices.MatchString(x.Service)
	})
}

// linesOf are the limits of a recording by the model that fits it most closely.
func (p *Params) linesOf(models []*levels.Model, r *telemetry.Recording, parts []telemetry.Recording,
	scope levels.Scope) ([]line, error) {
	best, closest := -1, -1
	for i, u := range p.Models {
		near, fits := u.fits(r.Node, r.Service)
		if fits && models[i].Service == kindOf(r.Service) && models[i].Scope == scope && near >= closest {
			best, closest = i, near
		}
	}
	if best < 0 {
		return nil, nil
	}
	of, err := models[best].Levels(p.inputs(r.Node, r.Service, models[best]))
	if err != nil {
		return nil, fmt.Errorf("what %s of %s may expect by the model %s: %w", cmp.Or(r.Service, "all volumes"),
			cmp.Or(r.Node, r.Source), models[best].Name, bySet(err))
	}
	if len(of.Cells) > 0 {
		l := line{node: r.Node, service: r.Service, of: of, recording: r, level: levels.Level{Quality: levels.Ops, Ways: both}}
		l.measure()
		return []line{l}, nil
	}
	var out []line
	for _, level := range of.Limits {
		l := line{node: r.Node, service: r.Service, of: of, level: level, recording: r, parts: parts,
			chosen: slices.ContainsFunc(level.Inputs, func(in string) bool { return models[best].Choices(in) != nil })}
		l.press(p.Credits)
		out = append(out, l)
	}
	return out, nil
}

// unused refuses what is set for an input that no model has, and what is for a service that
// is not there: a name that is misspelt would change nothing.
func (p *Params) unused(models []*levels.Model, recordings, whole []telemetry.Recording) (err error) {
	if len(recordings) == 0 {
		return nil
	}
	there := func(u Chosen, takes func(*levels.Model) bool) bool {
		for _, m := range models {
			for _, r := range append(slices.Clone(recordings), whole...) {
				scope := m.Scope == levels.OfNode || r.Service != ""
				if _, fits := u.fits(r.Node, r.Service); fits && scope && m.Service == kindOf(r.Service) && takes(m) {
					return true
				}
			}
		}
		return false
	}
	refuse := func(flag, problem, allowed string) {
		err = errors.Join(err, &model.InputError{Flag: flag, Problem: problem, Allowed: allowed})
	}
	services := "the services are " + num.List(servicesOf(recordings))
	for i, u := range p.Models {
		if u.For != "" && !there(u, func(m *levels.Model) bool { return m == models[i] }) {
			refuse("--model "+u.For+"="+u.Name, fmt.Sprintf("there is no service %q that the model fits", u.For), services)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(p.Set)) {
		of, input, ok := cutLast(key, ".")
		if !ok {
			input = key
		}
		takes := func(m *levels.Model) bool { return m.Takes(input) }
		switch {
		case !slices.ContainsFunc(models, takes):
			refuse("--set "+key, fmt.Sprintf("no model has the input %q", input), "the inputs are "+num.List(inputsOf(models)))
		case of != "" && !there(Chosen{For: of}, takes):
			refuse("--set "+key, fmt.Sprintf("there is no service %q with such a model", of), services)
		}
	}
	return err
}

// inputsOf are the inputs of models, each once.
func inputsOf(models []*levels.Model) (names []string) {
	for _, m := range models {
		names = append(names, m.InputNames()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
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

// rates are those of the recording, see [Rates].
func (l *line) rates(measure string) []float64 { return l.recording.Rates[telemetry.Measure(measure)] }

// limit is what counts against the level, in a quality.
func (l *line) limit(of levels.Quality) Limit {
	ways := make([]string, len(l.level.Ways))
	for i, w := range l.level.Ways {
		ways[i] = string(w)
	}
	out := Limit{Quality: string(of), Ways: ways, Network: kindOf(l.service) == levels.Network}
	switch of {
	case l.level.Quality:
		out.Unit, out.Unmerged = l.level.Unit, l.level.Unmerged
	case levels.Metric:
		out.Quality = l.level.Label
	}
	return out
}

// press computes the pressure in each period. credits is the share of a full bucket at
// the begin.
func (l *line) press(credits string) {
	l.load = l.limit(l.level.Quality).Load(l.rates)
	if l.load.Least == nil {
		return
	}
	l.addParts()
	r, idle := l.recording, []float64(l.recording.Rates[telemetry.Idle])
	l.loads, l.missing = NewSeries(r.Begin, r.End, l.load.Least, nil, idle)
	b := l.level.Bucket
	if b == nil {
		l.series, _ = NewSeries(r.Begin, r.End, l.load.Least, l.level.Rate.Pressure, idle)
		return
	}
	start, known := shareOf(credits)
	if !known {
		start = math.NaN()
	}
	readings, _ := NewSeries(r.Begin, r.End, l.rates(string(telemetry.Credits)), nil, nil)
	c := Follow(Bucket{Size: b.Size, Burst: b.Burst, Base: l.level.Rate.Level(), Fill: b.Fill, Start: start}, l.loads, readings)
	l.credits = &c
	l.series, l.most = c.Pressure(l.loads)
}

// measure computes the pressure on measured cells: what was observed, over what was
// measured of operations of that size and mix.
func (l *line) measure() {
	r := l.recording
	n, b := l.limit(levels.Ops).Load(l.rates).Least, l.limit(levels.Bytes).Load(l.rates).Least
	reads := l.rates(string(telemetry.ReadOps))
	if n == nil || b == nil || reads == nil {
		l.load.Absent = string(telemetry.ReadOps)
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
		} else {
			n[i] = math.NaN() // loads and pressures have the same periods
		}
	}
	l.load.Least = n
	l.loads, _ = NewSeries(r.Begin, r.End, n, nil, nil)
	l.series, l.missing = NewSeries(r.Begin, r.End, pressures, nil, r.Rates[telemetry.Idle])
}

// addParts computes the load of a node as the sum of its volumes' loads: each volume splits
// operations by itself.
func (l *line) addParts() {
	if len(l.parts) < 2 || l.level.Unit == 0 { // without a unit, the sum counts as much
		return
	}
	clear(l.load.Least)
	clear(l.load.Most)
	for _, r := range l.parts {
		of := l.limit(l.level.Quality).Load(func(measure string) []float64 { return r.Rates[telemetry.Measure(measure)] })
		for i, end := range l.recording.End {
			least, most := math.NaN(), math.NaN()
			if k, ok := slices.BinarySearch(r.End, end); ok && r.Begin[k] == l.recording.Begin[i] {
				least, most = of.Least[k], of.Most[k]
			}
			l.load.Least[i], l.load.Most[i] = l.load.Least[i]+least, l.load.Most[i]+most
		}
	}
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
