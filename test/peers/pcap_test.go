package peers

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// onWire reads a capture of packets (pcap, times in ns, Ethernet as on Linux's
// loopback) and returns how long each request took to be answered: from the
// packet with the request to the last one of the answer. Each connection has
// one request under way at a time.
func onWire(capture io.Reader, server uint16) ([]time.Duration, error) {
	w := wire{server: server, open: make(map[uint16]*exchange)}
	header := make([]byte, 24)
	if _, err := io.ReadFull(capture, header); err != nil {
		return nil, fmt.Errorf("reading the header of a capture: %w", err)
	}
	const nanoseconds, ethernet = 0xa1b23c4d, 1
	if binary.LittleEndian.Uint32(header) != nanoseconds || binary.LittleEndian.Uint32(header[20:]) != ethernet {
		return nil, errors.New("the capture is not one of Ethernet packets with times in nanoseconds")
	}
	for {
		at, packet, err := nextPacket(capture)
		if errors.Is(err, io.EOF) {
			return w.end(), nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading a packet of a capture: %w", err)
		}
		w.add(at, packet)
	}
}

// nextPacket returns what is kept of the next packet; io.EOF after the last,
// also where that was being written when the capture ended.
func nextPacket(capture io.Reader) (at time.Duration, packet []byte, err error) {
	var header [16]byte
	if _, err := io.ReadFull(capture, header[:]); err != nil {
		return 0, nil, io.EOF
	}
	field := func(i int) uint32 { return binary.LittleEndian.Uint32(header[4*i:]) }
	const most = 1 << 18
	if field(2) > most {
		return 0, nil, fmt.Errorf("it has %d bytes", field(2))
	}
	packet = make([]byte, field(2))
	if _, err := io.ReadFull(capture, packet); err != nil {
		return 0, nil, io.EOF
	}
	return time.Duration(field(0))*time.Second + time.Duration(field(1)), packet, nil
}

// exchange is a request and its answer.
type exchange struct{ asked, answered time.Duration }

// wire follows the connections to a server's port.
type wire struct {
	server uint16
	open   map[uint16]*exchange // by the client's port
	took   []time.Duration
}

func (w *wire) add(at time.Duration, packet []byte) {
	from, to, payload := segment(packet)
	switch {
	case payload <= 0: // acknowledges, or opens, or closes
	case to == w.server:
		w.finish(from)
		w.open[from] = &exchange{asked: at}
	case from == w.server && w.open[to] != nil:
		w.open[to].answered = at
	}
}

// finish ends the exchange of a client, which has been told the whole answer:
// otherwise it would not ask again.
func (w *wire) finish(client uint16) {
	if x := w.open[client]; x != nil && x.answered > 0 {
		w.took = append(w.took, x.answered-x.asked)
	}
	delete(w.open, client)
}

func (w *wire) end() []time.Duration {
	for client := range w.open {
		w.finish(client)
	}
	return w.took
}

// segment reads the ports of a TCP segment in IPv4, and the length of its
// payload by the headers: the packet may be cut. The length is 0 for any other
// packet.
func segment(packet []byte) (from, to uint16, payload int) {
	const ethernet, ipv4, tcp = 14, 0x0800, 6
	if len(packet) < ethernet+20 || binary.BigEndian.Uint16(packet[12:]) != ipv4 {
		return 0, 0, 0
	}
	ip := packet[ethernet:]
	header := int(ip[0]&0xf) * 4
	if ip[9] != tcp || len(ip) < header+20 {
		return 0, 0, 0
	}
	t := ip[header:]
	payload = int(binary.BigEndian.Uint16(ip[2:])) - header - int(t[12]>>4)*4
	return binary.BigEndian.Uint16(t), binary.BigEndian.Uint16(t[2:]), payload
}
