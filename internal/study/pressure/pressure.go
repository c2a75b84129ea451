// Package pressure is the question how close each rented service is to what may be expected of it, and so
// where money helps: AISLE's service level pressure, with what its sampling hides.
//
//  1. [Load]: what counts against a limit in each period of a recording.
//  2. [Series]: the pressure of each period, SLP(o) = Σ f·o/s (paper, equation 1); [Series.Summary].
//  3. [Series.Critical]: how long the pressure was above a threshold, TCPT and MCPT, with bounds.
//  4. [Follow]: the balance of a token bucket, and when it runs out.
//  5. [EstimateSize]: the size of operations that the provider counts by.
//  6. [Use]: how much of each limit the throughput uses, and which limits are the bottleneck.
//  7. [Advised]: what to raise, by how much it is of use, what is more than needed, as inputs that the model has.
//  8. [Growth], [Prices]: what a growth costs, against more nodes.
package pressure

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/levels"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/telemetry"
)

const long = `Says how close each rented service came to what may be expected of it, and for how
long. It says which one to raise, and what is the bottleneck then.

A source is a run, a file, or an address:
    RUN                      what the monitor recorded of volumes, network and processors
    iostat.json, iostat.txt  iostat -x -y -t, as JSON or text
    diskstats.txt            recordings of /proc/diskstats
    vol-1.json               nvme amzn stats -o json, each below a line with the time
    table.csv                time (the end of each period), volume, read_ops, write_ops,
                             read_bytes, write_bytes (a second), and perhaps node
    cloudwatch:vol-1,vol-2   CloudWatch, with the usual credentials
    prometheus:http://HOST   node_exporter's metrics

What may be expected is a model: "scalebench servicelevel models" lists those that come
with the program. A pressure of 100 % is all that may be expected. Times at the limit have
bounds, because the mean of a period hides its seconds.

With --fail-above, the exit code is 3 if a service was at its limit for longer by its
bounds. It is 4 if the bounds do not show it, and 0 otherwise.`

// Kind describes the question.
func Kind() study.Kind {
	return study.Kind{
		Name: "pressure", Command: "servicelevel pressure",
		Summary: "which rented service is at its limit, for how long, and which to raise", Long: long,
		Example: "  scalebench servicelevel pressure iostat.json --model aws-gp3 --set gib=100 --set iops=3000\n" +
			"  scalebench servicelevel pressure latest --model data=lab --set iops=300 --set bandwidth=60MiB/s\n" +
			"  scalebench servicelevel pressure cloudwatch:vol-1 --region eu-west-1 --model aws-io1 --set gib=100 --set " +
			"iops=1800\n" +
			"  scalebench servicelevel pressure disks.csv --model my-volume.yaml --growth 2 --prices prices.csv",
		New:     func() study.Study { return New() },
		Caveats: Caveats,
		Takes:   takes,
		Phases:  []model.Phase{model.Parallel}, Named: true,
	}
}

// New are the parameters with their defaults.
func New() *Params { return &Params{Critical: defaultCritical} }

// Answer implements study.Study.
func (p *Params) Answer(_ context.Context, in study.Input) (*study.Answer, error) {
	sources := in.Sources
	for _, r := range in.Runs {
		sources = append(sources, study.Source{Name: r.Run.Title(), Run: r.Run})
	}
	if len(sources) == 0 {
		return nil, fmt.Errorf("%w: give a run, a file or an address; --help lists what can be read", model.ErrUsage)
	}
	if err := p.Chosen(); err != nil {
		return nil, err
	}
	recordings, err := p.recordingsOf(sources)
	if err != nil {
		return nil, err
	}
	r, err := p.result(recordings)
	if err != nil {
		return nil, err
	}
	for _, s := range sources {
		if s.Run != nil && len(r.used) > 0 {
			r.Raised = append(r.Raised, p.raised(s.Run, r)...)
		}
	}
	names := make([]string, len(sources))
	for i, s := range sources {
		names[i] = s.Name
	}
	r.title = "Service level pressure of " + num.List(names)
	return &study.Answer{Result: r, Places: r.Places(), Gate: p.gate(r), Document: r.document}, nil
}

// Chosen refuses parameters without a model.
func (p *Params) Chosen() error {
	if len(p.Models) > 0 {
		return nil
	}
	return &model.InputError{Path: "models", Problem: "no model says what may be expected",
		Allowed: "give one: --model aws-gp3 (`scalebench servicelevel models` lists them), or a file"}
}

// result is the pressure of each limit, and what to do.
func (p *Params) result(recordings []telemetry.Recording) (*Result, error) {
	recordings, dropped := rented(recordings, p.Models)
	lines, without, err := p.lines(recordings)
	if err != nil {
		return nil, err
	}
	if len(lines) == 0 {
		return nil, noneFits(without)
	}
	r := &Result{Critical: float64(p.Critical), zone: p.Zone, Services: []*Service{}, Advice: []Advised{},
		sampling: p.sampling(), Sizes: sizesOf(recordings)}
	if err := p.services(r, lines); err != nil {
		return nil, err
	}
	r.cover(recordings)
	r.doubt(recordings, lines, without, dropped)
	if r.used, err = r.uses(); err != nil || len(r.used) == 0 {
		return r, err
	}
	if r.undecided() {
		r.Doubts.Add(adviceUnknown.At(model.Warning, caveat.Subject{}, struct{}{}))
		return r, nil
	}
	r.advise()
	return r, p.price(r)
}

// services adds the pressure of each limit that has one.
func (p *Params) services(r *Result, lines []line) error {
	nodes, steps := make(map[string]bool), []float64(nil)
	for i := range lines {
		l := &lines[i]
		nodes[l.node] = true
		r.absent = r.absent || len(l.series) == 0 || l.load.Lacks != ""
		if len(l.series) == 0 {
			r.Doubts.Add(l.absent())
			continue
		}
		s, err := p.service(l)
		if err != nil {
			return err
		}
		if l.again {
			s.Source = l.source
		}
		r.Services, steps = append(r.Services, s), append(steps, l.series.Step())
		r.Doubts.Add(l.doubts(s)...)
	}
	if r.nodes = len(nodes); len(steps) > 0 {
		r.Period = stats.Median(steps)
	}
	return nil
}

// doubt adds what is about the recordings: devices that are left out, services without a
// model, and what readers found.
func (r *Result) doubt(recordings []telemetry.Recording, lines []line, without []telemetry.Recording, dropped int) {
	if dropped > 0 {
		r.Doubts.Add(leftOut.At(model.Info, caveat.Subject{}, countOf{dropped, dropped + len(recordings)}))
	}
	for _, w := range without {
		if kindOf(w.Service) != levels.Volume || slices.ContainsFunc(lines, func(l line) bool {
			return l.node == w.Node && l.service == ""
		}) {
			continue // who rents no link has no model of it; a limit of the node counts its volumes
		}
		r.Doubts.Add(noModel.At(model.Info, subject(LimitOf{Node: w.Node, Service: w.Service}), struct{}{}))
	}
	for _, rec := range recordings {
		r.Doubts.Add(rec.Caveats()...)
	}
}

// noneFits is the error if no model fits any service.
func noneFits(all []telemetry.Recording) error {
	return &model.InputError{Path: "models", Problem: "no model fits " + num.List(servicesOf(all)),
		Allowed: "a model for one of them: --model " + all[0].Service + "=NAME"}
}

// servicesOf are the services of recordings for people, each once.
func servicesOf(all []telemetry.Recording) (names []string) {
	for _, r := range all {
		names = append(names, r.Service)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// subject is a limit of a service, or a service.
func subject(l LimitOf) caveat.Subject {
	return caveat.Subject{Node: model.NodeID(l.Node), Part: strings.TrimSpace(l.service() + " " + l.words())}
}

// gate holds the times at the limit against the threshold.
func (p *Params) gate(r *Result) error {
	if p.FailAbove == nil {
		return nil
	}
	limit := study.Limit{Most: float64(*p.FailAbove), Unit: "%", By: "--fail-above"}
	if len(r.Services) == 0 {
		return limit.Unknown("no service has a pressure")
	}
	var unknown error
	for _, s := range r.Services {
		err := limit.Check(fmt.Sprintf("the time of %s at its %s limit", s.name(r.nodes), s.words()), s.TCPT.Lo,
			s.TCPT.Hi)
		if err != nil && s.TCPT.Lo > limit.Most {
			return err
		}
		unknown = cmp.Or(unknown, err)
	}
	if r.absent {
		unknown = cmp.Or(unknown, limit.Unknown("a limit has no pressure, because the source lacks what it counts"))
	}
	return unknown
}
