package tiers

import (
	"fmt"
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

	now sums
}

type resent struct {
	segments uint32
	turn     int
}

// sums are those of one reading.
type sums struct {
	connections, send, largest uint64
	rtt                        float64 // µs, of all that count
	rtts                       int
	listeners                  int
	queue, limit               uint64
}

func newSockets(cfg Config) *sockets {
	s := &sockets{bound: newBound("connections", cfg.Step), fresh: max(cfg.Step, time.Second), sent: map[uint64]resent{}}
	for _, p := range cfg.Ports {
		s.ports = append(s.ports, uint16(p))
	}
	return s
}

func (s *sockets) open() (err error) {
	s.kernel, err = kernel.OpenSockets(kernel.Connections|kernel.Listeners, true)
	return err
}

func (s *sockets) close() {
	if s.kernel != nil {
		s.kernel.Close()
	}
}

func (s *sockets) read(out func(string, float64)) error {
	return s.do(func() error { return s.all(out) })
}

// all asks for every port. After a failure there may be answers left, so the way
// to the kernel is opened anew.
func (s *sockets) all(out func(string, float64)) error {
	if s.kernel == nil {
		if err := s.open(); err != nil {
			return err
		}
	}
	s.now = sums{}
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

func (s *sockets) emit(out func(string, float64)) {
	out("connections", float64(s.now.connections))
	out("send_queue", float64(s.now.send))
	out("send_queue_max", float64(s.now.largest))
	out("retransmits", float64(s.sum))
	if s.now.rtts > 0 {
		out("rtt", s.now.rtt/float64(s.now.rtts)/1e3)
	}
	if s.now.listeners > 0 {
		out("accept_queue", float64(s.now.queue))
		out("accept_limit", float64(s.now.limit))
	}
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
			s.sum += uint64(info.Retransmits - s.sent[x.Cookie].segments)
		}
		s.sent[x.Cookie] = resent{info.Retransmits, s.turn}
	}
}
