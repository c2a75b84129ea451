package http1

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/load"
)

// sniffer records when packets to and from a port pass the loopback device. The
// kernel keeps them until they are asked for.
type sniffer struct {
	fd   int
	port uint16
	took []time.Duration  // from each request to the last packet of its answer
	open map[uint16]int64 // when the request was seen, by the client's port
	last map[uint16]int64 // and the last packet of its answer
}

// sniff begins to record; it skips the test where that is not allowed.
func sniff(t *testing.T, port int) *sniffer {
	t.Helper()
	all := binary.NativeEndian.Uint16([]byte{unix.ETH_P_ALL >> 8, unix.ETH_P_ALL & 0xff})
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil && os.Getenv("CI") == "" {
		t.Skip("recording packets needs root:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	const room = 64 << 20
	lo, err := net.InterfaceByName("lo")
	for _, x := range [][3]int{{unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1}, {unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, room},
		{unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1}} { // each would be there twice
		if err == nil {
			err = unix.SetsockoptInt(fd, x[0], x[1], x[2])
		}
	}
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: lo.Index})
	}
	if err != nil {
		t.Fatal(errors.Join(err, unix.Close(fd)))
	}
	return &sniffer{fd: fd, port: uint16(port), open: make(map[uint16]int64), last: make(map[uint16]int64)}
}

// times ends recording. They are in order of size.
func (s *sniffer) times(t *testing.T) []time.Duration {
	t.Helper()
	packet, control := make([]byte, 256), make([]byte, 128)
	for {
		n, room, _, _, err := unix.Recvmsg(s.fd, packet, control, unix.MSG_DONTWAIT)
		if errors.Is(err, unix.EAGAIN) {
			break
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			t.Fatal(errors.Join(err, unix.Close(s.fd)))
		}
		s.add(packet[:max(n, 0)], control[:room])
	}
	if err := unix.Close(s.fd); err != nil {
		t.Fatal(err)
	}
	for client := range s.open {
		s.finish(client)
	}
	slices.Sort(s.took)
	return s.took
}

// add takes a packet, of which there may be only the beginning.
func (s *sniffer) add(packet, control []byte) {
	const ethernet, ip, tcp = 14, 20, 20
	if len(packet) < ethernet+ip+tcp || packet[ethernet] != 0x45 || packet[ethernet+9] != unix.IPPROTO_TCP {
		return
	}
	segment := packet[ethernet+ip:]
	from, to := binary.BigEndian.Uint16(segment), binary.BigEndian.Uint16(segment[2:])
	if from != s.port && to != s.port {
		return
	}
	payload := int(binary.BigEndian.Uint16(packet[ethernet+2:])) - ip - int(segment[12]>>4)*4
	stamp := (*unix.Timespec)(unsafe.Pointer(&control[unix.CmsgLen(0)])).Nano()
	switch {
	case payload == 0:
	case to == s.port:
		s.finish(from)
		s.open[from] = stamp
	default:
		s.last[to] = stamp
	}
}

// finish ends the exchange of a client, if it has one.
func (s *sniffer) finish(client uint16) {
	if asked, ended := s.open[client], s.last[client]; asked > 0 && ended > asked {
		s.took = append(s.took, time.Duration(ended-asked))
	}
	delete(s.open, client)
}

// TestAgainstPackets: the median from sending to answer is at most 1.2 times what the
// packets of the very requests say, or, on a slow machine, longer by less than two
// thirds of the delay of reading, also where loops sleep. With that delay it would be
// more than either.
func TestAgainstPackets(t *testing.T) {
	s := serve(t, always(okAnswer))
	d := open(t, Config{Requests: get(s.url), Loops: 1, Connections: 16})
	onCalmMachine(t, func() error {
		packets := sniff(t, s.listener.Addr().(*net.TCPAddr).Port)
		got := run(t.Context(), t, d, load.Run{Plan: hold(2000, time.Second), Drain: time.Second})
		wire := packets.times(t)
		if n := int64(len(wire)); n != got.OK || n != 2000 {
			return fmt.Errorf("%d answers on the wire, %d at the engine, want 2000", n, got.OK)
		}
		on := wire[len(wire)/2]
		service, late := medians(got)
		t.Logf("p50 is %v on the wire, %v at the engine, which read %v later", on, service, late)
		if service < on || service > max(on*12/10, on+late*2/3) {
			return fmt.Errorf("p50 is %v on the wire, and %v at the engine, which read %v later; want up to 1.2 times it, or most of that less", on, service, late)
		}
		return nil
	})
}
