// Package tiersim simulates an application of several tiers with users who think,
// event by event, and records what a watch of each host would. What limits it is
// known by construction, so that what is named as the bottleneck can be held
// against the truth.
//
// A request takes a thread of the first tier, works on its processor (processor
// sharing within a quota), waits for a connection of its host's pool, and goes on
// to the next tier; on its way back each host sends its answer through its link, and
// the one that asked receives it through its own (first come, first served). Threads and connections are kept until the tiers
// behind have answered: that is what pushes back.
package tiersim

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/model"
)

// Tier is one tier; 0 means that there is no such limit.
type Tier struct {
	Name    string
	Hosts   int
	Quota   float64 // cores of each host
	Work    float64 // mean processor time of a request, exponential
	Delay   float64 // mean time that it waits for what is no resource here
	Threads int     // of each host
	Pool    int     // connections of each host to the next tier
	Link    float64 // bytes a second of each host, in each direction
	Bytes   float64 // mean of an answer, exponential
	// Herd is by which share the work of a request grows with each other request
	// that works beside it.
	Herd float64
	// Batch is by which share it falls with each other, to half of it at the least:
	// what comes in bunches finds caches warm.
	Batch float64
	// Shares: it runs on the hosts of the tier before it, with their processors (Quota
	// of that tier) and their link. What it answers to its own host takes no link.
	Shares bool
}

// Net is an application with its users.
type Net struct {
	Tiers []Tier
	Think float64 // mean, exponential
	// Generator is how long the generator's one thread works for each request; its
	// clock runs from when the request was due. Mute: it does not say how busy it is.
	Generator float64
	Mute      bool
	// Swing: every so many seconds the work of the tiers Between changes sides: the
	// one does twice its work, the other a tenth.
	Swing   float64
	Between [2]int
	RampUp  float64 // seconds
	Run     int     // seconds that are scored
}

// Trial simulates so many users.
func (n Net) Trial(users, number int, seed uint64) bottleneck.Trial {
	s := &sim{Net: n, rng: rand.New(rand.NewPCG(seed, uint64(users)<<16+uint64(number))), response: make([]float64, 0, 1024)}
	if n.Generator > 0 {
		s.generator = &line{s: s}
	}
	for i := range n.Tiers {
		var of []*host
		for h := range max(1, n.Tiers[i].Hosts) {
			of = append(of, s.host(i, h))
			if n.Tiers[i].Shares {
				of[h].share(s.hosts[i-1][h])
			}
		}
		s.hosts = append(s.hosts, of)
	}
	s.next = make([]int, len(n.Tiers))
	for range users {
		s.after(s.rng.Float64()*n.RampUp/2, s.user)
	}
	end := n.RampUp + float64(n.Run)
	for at := 0; at <= n.Run; at++ {
		s.after(n.RampUp+float64(at), s.read)
	}
	for len(s.events) > 0 && s.events[0].at <= end {
		e := s.events.pop()
		s.now = e.at
		e.do()
	}
	return s.trial(users, number)
}

// event is what happens at a time.
type event struct {
	at  float64
	seq int
	do  func()
}

func (e event) Before(o event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

// queue is a heap: the first comes out first. (container/heap makes an allocation of
// each element.)
type queue[T interface{ Before(T) bool }] []T

func (q *queue[T]) push(x T) {
	*q = append(*q, x)
	h := *q
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].Before(h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
}

func (q *queue[T]) pop() T {
	h := *q
	first, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	for i := 0; 2*i+1 < last; {
		down := 2*i + 1
		if down+1 < last && h[down+1].Before(h[down]) {
			down++
		}
		if !h[down].Before(h[i]) {
			break
		}
		h[i], h[down] = h[down], h[i]
		i = down
	}
	*q = h
	return first
}

// sim is a run of the simulation.
type sim struct {
	Net
	rng       *rand.Rand
	now       float64
	events    queue[event]
	seq       int
	hosts     [][]*host
	next      []int // host of each tier whose turn it is
	generator *line
	busyFrom  float64 // of the generator, when the run began
	response  []float64
	dueIn     [][2]float64 // sum and number of the response times of what was due in a second
	thinks    []float64
}

func (s *sim) after(wait float64, do func()) {
	s.seq++
	s.events.push(event{s.now + wait, s.seq, do})
}

// user thinks, asks, and waits for the answer.
func (s *sim) user() {
	think := s.rng.ExpFloat64() * s.Think
	s.after(think, func() {
		due := s.now
		if s.running() {
			s.thinks = append(s.thinks, think)
		}
		ask := func() {
			s.serve(0, nil, func() {
				if s.running() {
					s.response = append(s.response, s.now-due)
					if at := int(due - s.RampUp); due >= s.RampUp {
						s.dueIn = append(s.dueIn, make([][2]float64, max(0, at+1-len(s.dueIn)))...)
						s.dueIn[at][0], s.dueIn[at][1] = s.dueIn[at][0]+s.now-due, s.dueIn[at][1]+1
					}
				}
				s.user()
			})
		}
		if s.generator == nil {
			ask()
			return
		}
		s.generator.take(s.Generator, ask)
	})
}

func (s *sim) running() bool { return s.now >= s.RampUp }

// serve is a request of a host, or a user, at a tier, dealt out in turns.
func (s *sim) serve(tier int, from *host, done func()) {
	turn := &s.next[tier]
	if s.Tiers[tier].Shares { // each asks all in turns, its own host, too
		turn = &from.turn
	}
	h := s.hosts[tier][*turn]
	*turn = (*turn + 1) % len(s.hosts[tier])
	came := s.now
	h.threads.take(func() {
		work := s.rng.ExpFloat64() * h.tier.Work * s.swing(tier)
		beside := float64(len(h.cpu.jobs))
		work *= (1 + h.tier.Herd*beside) * max(.5, 1-h.tier.Batch*beside)
		h.cpu.take(h.number, work, func() {
			s.after(s.rng.ExpFloat64()*h.tier.Delay, func() {
				s.behind(tier, h, func() {
					h.send(s.rng.ExpFloat64()*h.tier.Bytes, from, func() {
						h.threads.free()
						h.answered++
						h.spent += s.now - came
						done()
					})
				})
			})
		})
	})
}

// behind asks the next tier, with a connection of the pool.
func (s *sim) behind(tier int, h *host, done func()) {
	if tier+1 == len(s.Tiers) {
		done()
		return
	}
	h.pool.take(func() {
		s.serve(tier+1, h, func() {
			h.pool.free()
			done()
		})
	})
}

// swing is the factor of a tier's work now.
func (s *sim) swing(tier int) float64 {
	if s.Swing <= 0 || tier != s.Between[0] && tier != s.Between[1] {
		return 1
	}
	first := math.Mod(s.now, 2*s.Swing) < s.Swing
	if first == (tier == s.Between[0]) {
		return 2
	}
	return .1
}

// host is one host of a tier with what it recorded.
type host struct {
	s               *sim
	tier            Tier
	number          int // of the tier
	turn            int // of the host behind it that is asked next
	node            model.NodeID
	cpu             *processor
	threads         *permits
	pool            *permits
	link            *line   // what it sends
	inward          *line   // what it receives
	queued          float64 // bytes that wait to be sent
	answered, spent float64
	last            reading
	signals         map[string][]float64 // by second
}

func (s *sim) host(tier, number int) *host {
	t := s.Tiers[tier]
	return &host{s: s, tier: t, number: tier, node: model.NodeID(fmt.Sprintf("%s-%d", t.Name, number+1)),
		cpu: &processor{s: s, quota: t.Quota, of: make([]use, len(s.Tiers))}, threads: &permits{most: t.Threads},
		pool: &permits{most: t.Pool}, link: &line{s: s}, inward: &line{s: s}, signals: make(map[string][]float64)}
}

// share puts a host's services on another host.
func (h *host) share(other *host) {
	h.node, h.cpu, h.link, h.inward = other.node, other.cpu, other.link, other.inward
	h.tier.Quota, h.tier.Link = other.tier.Quota, other.tier.Link
}

// send puts an answer on the link, and on that of the host which asked.
func (h *host) send(bytes float64, to *host, done func()) {
	if to != nil && to.node == h.node {
		done()
		return
	}
	h.queued += bytes
	h.through(h.link, bytes, func() {
		received := func() {
			h.queued -= bytes
			done()
		}
		if to == nil {
			received()
			return
		}
		to.through(to.inward, bytes, received)
	})
}

// through takes bytes through one direction of the link.
func (h *host) through(l *line, bytes float64, done func()) {
	if h.tier.Link <= 0 {
		done()
		return
	}
	l.take(bytes/h.tier.Link, done)
}

// reading are the counters of a host at a time.
type reading struct{ cpu, answered, spent, out, in float64 }

// read notes what a watch reads each second.
func (s *sim) read() {
	first := s.now == s.RampUp
	if first && s.generator != nil {
		s.busyFrom = s.generator.worked()
	}
	for _, of := range s.hosts {
		for _, h := range of {
			h.cpu.advance()
			now := reading{h.cpu.of[h.number].used, h.answered, h.spent, h.link.worked(), h.inward.worked()}
			if !first {
				h.note(now)
			}
			h.last = now
		}
	}
}

// note adds a reading after a second: rates, and states as they are.
func (h *host) note(now reading) {
	add := func(name string, v float64) { h.signals[name] = append(h.signals[name], v) }
	add(bottleneck.SignalCPU, now.cpu-h.last.cpu)
	add(bottleneck.SignalQuota, h.tier.Quota)
	add(bottleneck.SignalRunnable, float64(len(h.cpu.jobs)))
	add(bottleneck.SignalRequests, now.answered-h.last.answered)
	add(bottleneck.SignalResponse, now.spent-h.last.spent)
	add(bottleneck.SignalSendQueue, h.queued)
	if h.tier.Link > 0 {
		add(bottleneck.SignalSent, (now.out-h.last.out)*h.tier.Link)
		add(bottleneck.SignalReceived, (now.in-h.last.in)*h.tier.Link)
		add(bottleneck.SignalLink, h.tier.Link)
	}
	if h.tier.Threads > 0 {
		add(bottleneck.SignalThreads, float64(h.threads.used))
		add(bottleneck.SignalThreadsMax, float64(h.tier.Threads))
		add(bottleneck.SignalThreadsQueue, float64(len(h.threads.waiting)))
	}
	if h.tier.Pool > 0 {
		add(bottleneck.SignalPool, float64(h.pool.used))
		add(bottleneck.SignalPoolMax, float64(h.tier.Pool))
		add(bottleneck.SignalPoolWaiting, float64(len(h.pool.waiting)))
	}
}

// trial is what the users and the hosts recorded.
func (s *sim) trial(users, number int) bottleneck.Trial {
	mean := func(xs []float64) float64 {
		sum := 0.0
		for _, x := range xs {
			sum += x
		}
		return sum / float64(len(xs))
	}
	t := bottleneck.Trial{Users: users, Trial: number, Throughput: float64(len(s.response)) / float64(s.Run), Response: mean(s.response), Think: mean(s.thinks)}
	g := bottleneck.Generator{Node: "users-1", Busy: math.NaN(), Lag: math.NaN()}
	if s.generator != nil && !s.Mute {
		g.Busy = (s.generator.worked() - s.busyFrom) / float64(s.Run)
	}
	t.Generators = append(t.Generators, g)
	for _, of := range s.dueIn {
		t.Responses = append(t.Responses, of[0]/of[1])
	}
	t.Cores = make(map[model.NodeID]float64)
	for _, of := range s.hosts {
		for _, h := range of {
			t.Services = append(t.Services, bottleneck.Service{Tier: h.tier.Name, Node: h.node, Signals: h.signals})
			t.Cores[h.node] = h.tier.Quota
		}
	}
	return t
}

// processor shares its quota among its jobs, each at most one core.
type processor struct {
	s       *sim
	quota   float64
	jobs    queue[job]
	served  float64 // work that a job which was there all the time has had
	of      []use   // by tier
	at      float64
	version int
}

// use is what a tier has of a processor: jobs on it, and cores · seconds so far.
type use struct{ jobs, used float64 }

type job struct {
	until float64 // of served
	tier  int
	done  func()
}

func (j job) Before(o job) bool { return j.until < o.until }

// rate is how fast each job is served.
func (p *processor) rate() float64 { return min(1, p.quota/float64(len(p.jobs))) }

// advance brings the processor to the present.
func (p *processor) advance() {
	if len(p.jobs) > 0 {
		passed := (p.s.now - p.at) * p.rate()
		p.served += passed
		for i := range p.of {
			p.of[i].used += passed * p.of[i].jobs
		}
	}
	p.at = p.s.now
}

func (p *processor) take(tier int, work float64, done func()) {
	p.advance()
	p.of[tier].jobs++
	p.jobs.push(job{p.served + work, tier, done})
	p.plan()
}

// plan makes the event of the next job that is done.
func (p *processor) plan() {
	p.version++
	if len(p.jobs) == 0 {
		return
	}
	version := p.version
	p.s.after(max(0, (p.jobs[0].until-p.served)/p.rate()), func() {
		if version != p.version {
			return
		}
		p.advance()
		j := p.jobs.pop()
		p.of[j.tier].jobs--
		p.plan()
		j.done()
	})
}

// permits are threads or connections; 0: as many as are wanted.
type permits struct {
	most, used int
	waiting    []func()
}

func (p *permits) take(do func()) {
	if p.most > 0 && p.used == p.most {
		p.waiting = append(p.waiting, do)
		return
	}
	p.used++
	do()
}

func (p *permits) free() {
	if len(p.waiting) == 0 {
		p.used--
		return
	}
	next := p.waiting[0]
	p.waiting = p.waiting[1:]
	next()
}

// line serves one after the other.
type line struct {
	s     *sim
	until float64 // when the last of those that wait is done
	total float64 // of all work that was taken
}

func (l *line) take(work float64, done func()) {
	l.until = max(l.until, l.s.now) + work
	l.total += work
	l.s.after(l.until-l.s.now, done)
}

// worked is how long it has worked until now.
func (l *line) worked() float64 { return l.total - max(0, l.until-l.s.now) }
