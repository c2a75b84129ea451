package http1

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// rawPeer is a server that writes its own packets, so that it can send them in
// any order. It knows as much of TCP as one test needs: no packet is lost on the
// way to it.
type rawPeer struct {
	url        string
	tun        *os.File
	disordered bool
	pause      time.Duration
}

// startPeer makes a network device with the peer behind it, which answers in
// two segments with a pause between them; the second first, where disordered.
func startPeer(t *testing.T, disordered bool, pause time.Duration) *rawPeer {
	t.Helper()
	tun, device := openTun(t)
	// The range is for tests like this one (RFC 2544), in nets of four addresses.
	net := rand.IntN(1 << 15)
	address := func(i int) string { return fmt.Sprintf("198.%d.%d.%d", 18+net>>14, net>>6&255, net&63*4+i) }
	for _, args := range [][]string{{"addr", "add", address(1) + "/30", "dev", device}, {"link", "set", device, "up"}} {
		if out, err := exec.CommandContext(t.Context(), "ip", args...).CombinedOutput(); err != nil {
			t.Fatalf("ip %v: %v: %s", args, err, out)
		}
	}
	p := &rawPeer{url: "http://" + address(2), tun: tun, disordered: disordered, pause: pause}
	var all sync.WaitGroup
	all.Go(p.run)
	t.Cleanup(func() {
		_ = tun.Close() // which removes the device
		all.Wait()
	})
	return p
}

// openTun makes a device, which only root may do.
func openTun(t *testing.T) (tun *os.File, device string) {
	t.Helper()
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	request, nameErr := unix.NewIfreq("sbtest%d")
	if nameErr != nil {
		t.Fatal(nameErr)
	}
	if err == nil {
		request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err != nil && os.Getenv("CI") == "" {
		t.Skip("a network device of one's own needs root and /dev/net/tun:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), "tun"), request.Name()
}

// Flags of TCP.
const (
	flagSYN = 1 << 1
	flagPSH = 1 << 3
	flagACK = 1 << 4
)

// run answers until the device is gone. It remembers nothing: what it has sent
// is what the other side has acknowledged.
func (p *rawPeer) run() {
	packet := make([]byte, 1<<16)
	for {
		n, err := p.tun.Read(packet)
		if err != nil {
			return
		}
		ip := packet[:n]
		if n < 40 || ip[0] != 0x45 || ip[9] != unix.IPPROTO_TCP {
			continue
		}
		tcp := ip[20:]
		payload := n - 20 - int(tcp[12]>>4)*4
		sequence, acknowledged := binary.BigEndian.Uint32(tcp[4:]), binary.BigEndian.Uint32(tcp[8:])
		switch {
		case tcp[13]&flagSYN != 0:
			p.send(ip, flagSYN|flagACK, 1, sequence+1, "")
		case payload > 0:
			p.answer(ip, acknowledged, sequence+uint32(payload))
		}
	}
}

// answer sends the two segments. Nothing else comes meanwhile that matters.
func (p *rawPeer) answer(ip []byte, from, next uint32) {
	const half = uint32(len(okAnswer) / 2)
	parts := [2]struct {
		at   uint32
		text string
	}{{from, okAnswer[:half]}, {from + half, okAnswer[half:]}}
	if p.disordered {
		parts[0], parts[1] = parts[1], parts[0]
	}
	p.send(ip, flagPSH|flagACK, parts[0].at, next, parts[0].text)
	<-time.After(p.pause)
	p.send(ip, flagPSH|flagACK, parts[1].at, next, parts[1].text)
}

// send writes a segment to where a packet has come from.
func (p *rawPeer) send(to []byte, flags byte, sequence, acknowledge uint32, text string) {
	b := make([]byte, 40, 40+len(text))
	ip, tcp := b[:20], b[20:40]
	ip[0], ip[8], ip[9] = 0x45, 64, unix.IPPROTO_TCP
	binary.BigEndian.PutUint16(ip[2:], uint16(40+len(text)))
	copy(ip[12:16], to[16:20])
	copy(ip[16:20], to[12:16])
	binary.BigEndian.PutUint16(ip[10:], checksum(0, ip))
	copy(tcp[0:2], to[22:24])
	copy(tcp[2:4], to[20:22])
	binary.BigEndian.PutUint32(tcp[4:], sequence)
	binary.BigEndian.PutUint32(tcp[8:], acknowledge)
	tcp[12], tcp[13] = 5<<4, flags
	binary.BigEndian.PutUint16(tcp[14:], 1<<15) // room
	b = append(b, text...)
	binary.BigEndian.PutUint16(b[36:], checksum(unix.IPPROTO_TCP+len(b)-20, b[12:])) // with both addresses
	_, _ = p.tun.Write(b)                                                            // where that fails the test has ended
}

// checksum is that of the internet (RFC 1071), beginning with a sum.
func checksum(sum int, b []byte) uint16 {
	for i, x := range b {
		sum += int(x) << (8 * ((i + 1) & 1))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
