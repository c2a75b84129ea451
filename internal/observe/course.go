package observe

// Moment is what the monitor saw of a machine from one reading to the next.
type Moment struct {
	From, To float64 // seconds since the start of the task
	Busy     float64 // processors that ran something
	Cores    float64 // processors that there are
	Short    float64 // share of the moment in which processors were short
	Stolen   float64 // processors that wanted to run, and did not
}

// moments are the time of the task, from one reading of the monitor to the next.
func (n Host) moments() []Moment {
	times, cores := n.Readings(MetricIdle).Times, n.Readings(MetricCores).Values
	if len(times) < 2 {
		return nil
	}
	idle, kinds, running, steal := n.walk(MetricIdle, MetricIOWait), n.walk(CPUKinds...), n.walk(CPURunning...), n.walk(MetricSteal)
	var out []Moment
	from := n.Begin
	for _, to := range append(times, n.End) {
		if to = min(to, n.End); to <= from {
			continue
		}
		m, lasted := Moment{From: from - n.Begin, To: to - n.Begin}, to-from
		left, all := idle.to(to), kinds.to(to)
		if all > 0 {
			m.Short = min(max((plenty-left/all)/(plenty-scarce), 0), 1)
		}
		if len(cores) > 0 {
			m.Cores = cores[0]
		}
		m.Busy, m.Stolen = running.to(to)/lasted, steal.to(to)/lasted
		out, from = append(out, m), to
	}
	return out
}

// lostToOthers is the share of what ran that was none of the run's tasks, which
// used so many processors: at most in all of the time in which these were short.
func (m Moment) lostToOthers(own float64) float64 {
	others := m.Busy - own
	if !(others > 0) || !(m.Busy > 0) {
		return 0
	}
	return min(others, m.Short*m.Cores, m.Busy) / m.Busy
}

// lostToSteal is the share that was stolen of what would else have run.
func (m Moment) lostToSteal(float64) float64 {
	if !(m.Stolen > 0) {
		return 0
	}
	return m.Stolen / (m.Stolen + m.Busy)
}

// Course is what a disturbance can have taken from a task, from one reading of
// the monitor to the next.
type Course struct {
	Moments []Moment
	// own is how many processors all tasks of the step used on the machine, on
	// average over the task.
	own  float64
	lost func(m Moment, own float64) float64
}

// Lost is the share of its capacity that the task can have lost in a moment in
// which the tasks of its machine worked at this pace, 1 being their average: what
// they take of the processors is taken as proportional to that.
func (c Course) Lost(m Moment, pace float64) float64 { return c.lost(m, c.own*pace) }

// leastFollowed is the share of a capacity below which nothing is looked for in
// the course of a task: counters of processor time are coarser than that.
const leastFollowed = 0.01

// course of a node that lost this share, as far as a check tells it by moments: not
// where the node's own limit tells it better.
func (c check) course(n Host, share float64) Course {
	if c.lostIn == nil || share <= leastFollowed || share >= n.belowLimit() {
		return Course{}
	}
	out := Course{Moments: n.moments(), lost: c.lostIn}
	if busy := n.busy(); busy > n.Others {
		out.own = busy - n.Others
	}
	return out
}
