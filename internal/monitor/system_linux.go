package monitor

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/kernel"
)

// diagAllowance is what reading the queues of all sockets may take of a
// second on average: 0.1 % of a core. A socket takes about a microsecond, so
// beyond a thousand of them there is not a reading every second.
const diagAllowance = time.Millisecond

// diag reads the queues of all TCP sockets of the network namespace.
type diag struct {
	sockets *kernel.Sockets
	allowed kernel.Allowance
	failed  bool
}

// socketQueues is nil where the kernel does not answer.
func socketQueues() source {
	sockets, err := kernel.OpenSockets(kernel.Connections, false)
	if err != nil {
		return nil
	}
	return &diag{sockets: sockets, allowed: kernel.Allowance{PerTurn: diagAllowance}}
}

// Read emits the queues when it is their turn. After a failure there may be
// answers left in the socket, so it is not asked again.
func (d *diag) Read(out emit) {
	if d.failed || !d.allowed.Turn() {
		return
	}
	before := time.Now()     // what it costs is real time, whatever the monitor's clock is
	var send, receive uint64 // bytes
	err := d.sockets.Each(0, func(s *kernel.Socket) {
		send += uint64(s.Send)
		receive += uint64(s.Receive)
	})
	d.allowed.Spent(time.Since(before))
	if err != nil {
		d.failed = true
		return
	}
	out("tcp.send_queue", float64(send))
	out("tcp.receive_queue", float64(receive))
}

func (d *diag) Close() { d.sockets.Close() }

// deviceNumber returns the device below a path: of a block device its own
// number, of a file or folder that of the device which holds it. Some file
// systems (btrfs, overlay, tmpfs, network ones) return a number that no device
// has; then nothing in /proc/diskstats matches.
func deviceNumber(path string) (major, minor uint64, ok bool) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return 0, 0, false
	}
	dev := uint64(st.Dev) //nolint:unconvert // 32 bits on some processors
	if st.Mode&unix.S_IFMT == unix.S_IFBLK {
		dev = uint64(st.Rdev) //nolint:unconvert // as above
	}
	return uint64(unix.Major(dev)), uint64(unix.Minor(dev)), true
}
