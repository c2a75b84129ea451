package network

import (
	"runtime"
	"time"

	"github.com/scalebench/scalebench/internal/workload"
)

// settings are parameters with every default resolved.
type settings struct {
	tool string
	// receive and send: what a measuring task does. mutual: both ends of a
	// pair measure.
	receive, send, mutual bool
	connections           int   // for each direction and peer
	size                  int64 // of the object, bytes
	duration              time.Duration
	downloads             int64 // transfers for each direction and peer; 0: duration counts
	// warmUp is the time from the start to the scored part; for its first
	// part, idle, nothing is transferred.
	warmUp, idle time.Duration
	port         int
	stall        time.Duration
}

const (
	defaultConnections = 4
	defaultSize        = 100_000_000 // the paper's test file: 100 MB
	defaultDuration    = 10 * time.Second
	defaultWarmUp      = 2 * time.Second
	paperDownloads     = 3200
	maxIdle            = time.Second
)

func (p *Params) settings() settings {
	s := settings{
		tool: p.Tool, connections: p.Connections, size: int64(p.Size), duration: p.Duration.Std(),
		downloads: p.Downloads, port: p.Port, stall: p.Stall.Std(),
	}
	s.receive, s.send, s.mutual = p.directions()
	if p.Preset == Paper {
		s.paper()
	}
	if s.connections == 0 {
		s.connections = defaultConnections
	}
	if s.size == 0 {
		s.size = defaultSize
	}
	if s.duration == 0 {
		s.duration = defaultDuration
	}
	s.warmUp = p.warmUp(s.downloads > 0)
	s.idle = s.idleTime()
	return s
}

// paper sets what the preset says where nothing else was asked for. "All
// threads of the machine" are those that this process may run on.
func (s *settings) paper() {
	if s.connections == 0 {
		s.connections = runtime.NumCPU()
	}
	if s.downloads == 0 && s.duration == 0 {
		s.downloads = paperDownloads
	}
}

func (p *Params) warmUp(counted bool) time.Duration {
	switch {
	case p.WarmUp != nil:
		return p.WarmUp.Std()
	case counted: // the paper counts from the first byte
		return 0
	}
	return defaultWarmUp
}

// idleTime leaves iperf3 whole seconds for its own warm-up.
func (s *settings) idleTime() time.Duration {
	if s.tool == Iperf3 && s.warmUp < 2*time.Second {
		return 0
	}
	return min(maxIdle, s.warmUp/2)
}

// direction is the direction that was given, or the default of the pairing.
func (p *Params) direction() string {
	switch {
	case p.Direction != "":
		return p.Direction
	case p.Shape == string(workload.Ring):
		return Receive
	case p.Shape == string(workload.AllToOne):
		return Send
	}
	return Both
}

// directions says what a measuring task does, and whether both ends of a pair
// measure. The two ends of a pair receive from each other, as in the paper:
// what one receives the other sends, and none is counted twice.
func (p *Params) directions() (receive, send, mutual bool) {
	d := p.direction()
	pair := p.Shape == string(workload.Pairs) || p.Shape == string(workload.AcrossGroups)
	if pair && d == Both {
		return true, false, true
	}
	return d != Send, d != Receive, false
}
