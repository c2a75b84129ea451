package monitor

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/procself"
)

// helperEnv makes the test binary a helper process: a node in a group or
// namespace that the test has made.
const helperEnv = "MONITOR_TEST_HELPER"

func TestMain(m *testing.M) {
	if role := os.Getenv(helperEnv); role != "" {
		if err := helper(role); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// observed is what a helper tells: what it did, and what the monitor saw.
type observed struct {
	CPU    time.Duration // that the helper used
	Real   time.Duration // between first and last reading
	Bytes  int           // that it sent
	Series []model.HostSeries
	Queues []uint64 // send, receive
	Others float64
}

// helper waits for a line, which says that its surroundings are ready and is
// its argument, and does what it is there for.
func helper(role string) error {
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return err
	}
	arg := line[:len(line)-1]
	roles := map[string]func(string) (observed, error){"burn": burn, "send": send, "receive": receive, "queue": fillQueue}
	o, err := roles[role](arg)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(o)
}

// burn uses two seconds of processor time.
func burn(string) (o observed, err error) {
	r := New(Config{}).Start(context.Background())
	began, before := time.Now(), processCPU()
	ownBefore, err := procself.ReadProcess(os.Getpid())
	if err != nil {
		return o, err
	}
	x := 1.0
	for processCPU()-before < 2*time.Second {
		for range 100_000 {
			x = x*1.0000001 + 1e-9
		}
	}
	r.Stop()
	o = observed{CPU: processCPU() - before, Real: time.Since(began), Series: r.Series(began)}
	own, err := procself.ReadProcess(os.Getpid())
	o.Others, _ = Others(o.Series, own.CPU-ownBefore.CPU) // whether it is there shows in the value
	if x < 0 {
		return o, fmt.Errorf("x = %v", x)
	}
	return o, err
}

// processCPU is the processor time of this process to the nanosecond.
func processCPU() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		panic(err) // this clock is always there
	}
	return time.Duration(ts.Nano())
}

const (
	servePort = "7777"
	sendBytes = 20 << 20
)

// send sends over TCP while the monitor watches, until the other end has all
// of it.
func send(to string) (o observed, err error) {
	c, err := net.DialTimeout("tcp", net.JoinHostPort(to, servePort), 10*time.Second)
	if err != nil {
		return o, err
	}
	defer c.Close() //nolint:errcheck // the process ends
	r := New(Config{}).Start(context.Background())
	if o.Bytes, err = c.Write(make([]byte, sendBytes)); err != nil {
		return o, err
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		return o, err
	}
	if _, err := io.ReadAll(c); err != nil { // ends when the other has read all
		return o, err
	}
	r.Stop()
	o.Series = r.Series(time.Now())
	return o, nil
}

// receive takes one connection to its end.
func receive(string) (o observed, err error) {
	l, err := net.Listen("tcp", ":"+servePort)
	if err != nil {
		return o, err
	}
	r := New(Config{}).Start(context.Background())
	fmt.Fprintln(os.Stderr, "listening")
	c, err := l.Accept()
	if err != nil {
		return o, err
	}
	n, err := io.Copy(io.Discard, c)
	if err != nil {
		return o, err
	}
	r.Stop()
	o.Bytes, o.Series = int(n), r.Series(time.Now())
	return o, c.Close()
}

// fillQueue writes over loopback to a socket that does not read, until nothing
// more fits, and waits until the kernel shows all of it as queued.
func fillQueue(string) (o observed, err error) {
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		return o, fmt.Errorf("ip: %w: %s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return o, err
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return o, err
	}
	if err := c.SetWriteDeadline(time.Now().Add(500 * time.Millisecond)); err != nil {
		return o, err
	}
	for err == nil {
		var n int
		n, err = c.Write(make([]byte, 64<<10))
		o.Bytes += n
	}
	d, ok := socketQueues().(*diag)
	if !ok {
		return o, syscall.ENOPROTOOPT
	}
	defer d.Close()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		q := map[string]uint64{}
		d.allowed.PerTurn = time.Hour // each reading has its turn
		if d.Read(func(name string, v float64) { q[name] = uint64(v) }); d.failed {
			return o, errors.New("the kernel does not tell the queues")
		}
		if o.Queues = []uint64{q["tcp.send_queue"], q["tcp.receive_queue"]}; o.Queues[0]+o.Queues[1] == uint64(o.Bytes) {
			break
		}
	}
	return o, errors.Join(c.Close(), l.Close())
}
