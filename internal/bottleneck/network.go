package bottleneck

import (
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/queueing"
)

// once is how much an operation takes of each resource, with nothing in two of them:
// what a service uses within a limit of its own is used of the processor of a host that
// it shares, too. Where the host allows less it keeps that, and else the service does.
func (l *Laws) once() []float64 {
	out := make([]float64, len(l.Demands))
	for i, d := range l.Demands {
		out[i], _ = d.best()
	}
	for i, own := range l.Demands {
		value, _ := own.best()
		for j, host := range l.Demands {
			switch part := own.within(host); {
			case own.hostOf(host):
				out[j] = max(0, out[j]-value)
			case part == 0:
			case part == 1 && own.Limit() >= host.Limit():
				out[i] = 0
			default:
				out[j] = max(0, out[j]-part*value)
			}
		}
	}
	return out
}

// within is on which part of its hosts the processor of a service is one that the
// service shares.
func (d Demand) within(host Demand) float64 {
	if d.Node != "" || d.Kind != CPU || host.Kind != CPU || d.Shared() || !host.Shared() || !host.Of(d.Tier) {
		return 0
	}
	n := 0
	for _, node := range d.nodes {
		if slices.Contains(host.nodes, node) {
			n++
		}
	}
	return float64(n) / float64(max(1, len(d.nodes)))
}

// hostOf reports whether it is that of one host of a tier: its load is not shared evenly,
// and the others have the rest.
func (d Demand) hostOf(tier Demand) bool { return d.Node != "" && d.ofTier() == tier.Resource }

// stations are the resources as those of a closed network: each host of a tier is one
// of its own, for requests are dealt out before they wait. A processor of several cores
// serves so many at once; parts of a core serve one, more slowly. Equal ones are
// neighbours, which are solved as one.
func (l *Laws) stations() (out []queueing.Station) {
	values := l.once()
	for i, d := range l.Demands {
		each := (d.Capacity - d.Idle) / float64(d.Hosts)
		servers := 1
		if d.Kind == CPU { // what is used without operations makes servers slower, not fewer
			servers = max(1, int(d.Capacity/float64(d.Hosts)))
		}
		hosts := d.Hosts
		for _, one := range l.Demands {
			if one.hostOf(d) {
				hosts--
			}
		}
		for range hosts {
			out = append(out, queueing.Station{Demand: values[i] / float64(hosts) * float64(servers) / each, Servers: servers})
		}
	}
	return out
}

// fullSpeed is the least that an operation takes, alone: the processor time of all
// tiers, for a request runs on one core at a time. Quotas and shapers do not slow down
// what comes alone. What is known as a share only may take any time.
func (l *Laws) fullSpeed() (seconds float64) {
	for i, v := range l.once() {
		if d := l.Demands[i]; d.Kind == CPU && d.Unit == unitSeconds {
			seconds += v
		}
	}
	return seconds
}

// network is the closed network with these demands, and a delay with which it has the
// response time that was measured at the first load.
func (l *Laws) network(first Load) queueing.Closed {
	c := queueing.Closed{Stations: l.stations(), Think: *first.Think}
	users, cycle := first.Users, *first.Think+*first.Response
	// With another delay requests meet others at the stations more or less often, so that
	// one step does not reach the point; each comes closer.
	const rounds = 20
	for range rounds {
		x, err := c.Solve(users)
		if err != nil {
			break
		}
		think := max(0, cycle-queueing.Response(float64(users), x[users-1], c.Think))
		if think == c.Think {
			break
		}
		c.Think = think
	}
	l.Delay = c.Think - *first.Think
	return c
}

// solve compares each load with bounds and model.
func (l *Laws) solve(loads []Load) {
	if loads[0].Think == nil || loads[0].Response == nil {
		l.Says = "without think times or response times the model was not solved"
		return
	}
	if !slices.ContainsFunc(loads, func(x Load) bool { return !(math.Abs(value(x.Law)-1) > lawBroken) }) {
		l.Says = "the law of closed loops holds at no load, so that the model was not solved"
		return
	}
	c := l.network(loads[0])
	model, err := c.Solve(loads[len(loads)-1].Users)
	if err != nil {
		l.Says = "the model was not solved: " + err.Error()
		return
	}
	l.UsersAtKnee = num.IfFinite(max(c.Knee(), *l.Limit*(*loads[0].Think+l.fullSpeed())))
	for _, x := range loads {
		lo, hi := l.bounds(c, x)
		predicted := model[x.Users-1]
		l.Points = append(l.Points, Point{Users: x.Users, Throughput: x.Throughput, Lo: lo, Hi: hi,
			Model: num.IfFinite(predicted), Off: num.IfFinite(x.Throughput/predicted - 1)})
	}
	l.Says = l.fit()
}

// bounds hold the throughput at a load. The lower one takes limits for slower servers,
// which they are at worst. The upper one must not: what comes alone runs at full speed,
// and a quota of a whole core lets two requests run at once on two. The balanced one is
// not proved for that.
func (l *Laws) bounds(c queueing.Closed, x Load) (lo, hi float64) {
	users := float64(x.Users)
	think := c.Think - l.Delay // of the first load
	c.Think = think + max(0, l.Delay)
	b := c.Asymptotic(users)
	if closer, ok := c.Balanced(users); ok {
		b = closer
	}
	if x.Think != nil { // what was drawn differs by chance
		think = *x.Think
	}
	hi = min(*l.Limit, users/(think+l.fullSpeed()))
	return min(b.Lo, hi), hi
}
