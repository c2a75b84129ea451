package tiers

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/kernel"
)

// sockets reads the connections to a service's ports, and the listeners there.
type sockets struct {
	*bound

	kernel *kernel.Sockets // nil after a failure
	ports  []uint16
	fresh  time.Duration // how long ago a connection may have sent for its RTT to count
	begun  bool
	turn   int
	// sent are the connections that sent something again, by cookie.
	sent map[uint64]resent
	sum  uint64 // of segments sent again since the first reading
	// peers are where connections came from, by address; those beyond mostPeers are
	// one, at the zero address.
	peers  map[netip.Addr]*peer
	untold bool      // there is a new one
	told   time.Time // when they were told last

	now sums
}

// mostPeers is how many addresses have signals of their own; the others have theirs
// together.
const mostPeers = 16

// peersEvery is how often peers are told, where readings are more frequent; a new one,
// and the end, are told at once.
const peersEvery = 900 * time.Millisecond

// peer is what is told of the connections from one address.
type peer struct {
	queue, again string // names of its signals
	send         uint64 // bytes, at this reading
	sum          uint64 // of segments sent again since the first reading
}

// inNames replaces what means something in names of signals.
var inNames = strings.NewReplacer(".", "_", ":", "_")

type resent struct {
	segments uint32
	turn     int
}

// sums are those of one reading.
type sums struct {
	connections, send, largest uint64
	receive                    uint64
	rtt                        float64 // µs, of all that count
	rtts                       int
	listeners                  int
	queue, limit               uint64
}

func newSockets(cfg Config) *sockets {
	s := &sockets{bound: newBound("connections", cfg.Step), fresh: max(cfg.Step, time.Second), sent: map[uint64]resent{}, peers: map[netip.Addr]*peer{}}
	for _, p := range cfg.Ports {
		s.ports = append(s.ports, uint16(p))
	}
	return s
}

func (s *sockets) open() (err error) {
	s.kernel, err = kernel.OpenSockets(kernel.Connections|kernel.Listeners, true)
	return err
}

func (s *sockets) Close() {
	if s.kernel != nil {
		s.kernel.Close()
	}
}

func (s *sockets) Parse(out kernel.Emit) error {
	return s.do(func() error { return s.all(out) })
}

// all asks for every port. After a failure there may be answers left, so the way
// to the kernel is opened anew.
func (s *sockets) all(out kernel.Emit) error {
	if s.kernel == nil {
		if err := s.open(); err != nil {
			return err
		}
	}
	s.now = sums{}
	for _, p := range s.peers {
		p.send = 0
	}
	s.turn++
	silent := 0
	for _, port := range s.ports {
		before := s.now.listeners
		if err := s.kernel.Each(port, s.take); err != nil {
			s.kernel.Close()
			s.kernel = nil
			return err
		}
		if s.now.listeners == before {
			silent = int(port)
		}
	}
	s.begun = true
	for cookie, r := range s.sent {
		if r.turn != s.turn {
			delete(s.sent, cookie)
		}
	}
	s.emit(out)
	if silent != 0 {
		return fmt.Errorf("nothing listens on port %d", silent)
	}
	return nil
}

func (s *sockets) emit(out kernel.Emit) {
	out("connections", float64(s.now.connections))
	out("send_queue", float64(s.now.send))
	out("send_queue_max", float64(s.now.largest))
	out("receive_queue", float64(s.now.receive))
	out("retransmits", float64(s.sum))
	if s.now.rtts > 0 {
		out("rtt", s.now.rtt/float64(s.now.rtts)/1e3)
	}
	if s.now.listeners > 0 {
		out("accept_queue", float64(s.now.queue))
		out("accept_limit", float64(s.now.limit))
	}
	s.emitPeers(out, time.Now())
}

func (s *sockets) emitPeers(out kernel.Emit, now time.Time) {
	if !s.untold && now.Sub(s.told) < peersEvery && (s.last == nil || !s.last()) {
		return
	}
	s.untold, s.told = false, now
	for _, p := range s.peers {
		out(p.queue, float64(p.send))
		out(p.again, float64(p.sum))
	}
}

// at is the peer at an address.
func (s *sockets) at(addr netip.Addr) *peer {
	p, ok := s.peers[addr]
	if !ok && len(s.peers) >= mostPeers {
		addr = netip.Addr{}
		p, ok = s.peers[addr]
	}
	if !ok {
		name := "other"
		if addr.IsValid() {
			name = inNames.Replace(addr.String())
		}
		p = &peer{queue: queueOf + name + "]", again: againOf + name + "]"}
		s.peers[addr], s.untold = p, true
	}
	return p
}

// take adds a socket.
func (s *sockets) take(x *kernel.Socket) {
	if x.State == kernel.Listen {
		s.now.listeners++
		s.now.queue += uint64(x.Receive)
		s.now.limit += uint64(x.Send)
		return
	}
	if x.State == kernel.Established {
		s.now.connections++
	}
	s.now.send += uint64(x.Send)
	s.now.largest = max(s.now.largest, uint64(x.Send))
	s.now.receive += uint64(x.Receive)
	p := s.at(x.Remote())
	p.send += uint64(x.Send)
	info, ok := x.Info()
	if !ok {
		return
	}
	if info.RTT > 0 && time.Duration(info.LastSent)*time.Millisecond <= s.fresh && x.State == kernel.Established {
		s.now.rtt += float64(info.RTT)
		s.now.rtts++
	}
	if info.Retransmits > 0 {
		if s.begun {
			more := uint64(info.Retransmits - s.sent[x.Cookie].segments)
			s.sum += more
			p.sum += more
		}
		s.sent[x.Cookie] = resent{info.Retransmits, s.turn}
	}
}
