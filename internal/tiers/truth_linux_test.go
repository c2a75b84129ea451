package tiers

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/cgroup"
	"github.com/scalebench/scalebench/internal/kernel"
	"github.com/scalebench/scalebench/internal/model"
)

// These tests compare signals with what is known to have been done. They make
// control groups and namespaces, so they need root.

// spin is a program that never waits.
const spin = "while :; do :; done"

// spinners are n of them.
func spinners(n int) string { return strings.Repeat(spin+" & ", n) + "wait" }

// measures is for tests that need some of a processor at a certain time.
func measures(t *testing.T) {
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	t.Parallel() // it mostly waits
}

// TestTruthQuota: a process that never waits uses its quota and no more; the rest
// of each period it is throttled. In mid-run the quota is raised.
func TestTruthQuota(t *testing.T) {
	measures(t)
	g := makeGroup(t)
	g.limit(t, 0.2)
	_, _, pid := command(t, g, "/bin/sh", "-c", spin)
	w := New(Config{Service: "svc", Group: g.dirs, PID: pid, Step: 50 * time.Millisecond})
	w.Start(t.Context())
	<-time.After(1500 * time.Millisecond)
	w.Stop()
	list := w.Series(time.Now())
	sound(t, list)
	near(t, "quota", last(t, list, "quota"), 0.2, 1e-9)
	near(t, "processor time over quota", rate(t, list, "cpu")/0.2, 1, 0.1)
	throttled(t, list, 0.8)
	// The kernel adds a delay when it is over, so the last may be missing.
	near(t, "time of the thread", rate(t, list, "cpu")+rate(t, list, "run_delay"), 1, 0.1)
	near(t, "periods a second", rate(t, list, "periods"), 10, 0.1)
	all, _ := gained(t, list, "periods")
	some, _ := gained(t, list, "throttled_periods")
	near(t, "throttled share of periods", some/all, 1, 0.1)
	if f := w.Failures(); len(f) > 0 {
		t.Errorf("Failures = %q, want none", f)
	}
	g.limit(t, 0.5)
	above := New(Config{Service: "svc", Group: g.dirs, Step: 50 * time.Millisecond})
	above.Start(t.Context())
	<-time.After(600 * time.Millisecond)
	above.Stop()
	list = above.Series(time.Now())
	near(t, "processor time at the new quota", rate(t, list, "cpu"), 0.5, 0.3) // over six periods
	near(t, "the new quota", last(t, list, "quota"), 0.5, 1e-9)
}

// TestTruthQuotaAbove: the limit is that of the group above, and changes while it
// is watched.
func TestTruthQuotaAbove(t *testing.T) {
	measures(t)
	g := makeGroup(t)
	inner := &controlGroup{}
	for _, d := range g.dirs {
		if err := os.Mkdir(filepath.Join(d, "service"), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
		inner.dirs = append(inner.dirs, filepath.Join(d, "service"))
		t.Cleanup(func() { inner.remove(t, filepath.Join(d, "service")) })
	}
	g.limit(t, 0.1)
	command(t, inner, "/bin/sh", "-c", spin)
	w := New(Config{Service: "svc", Group: inner.dirs, Step: 50 * time.Millisecond})
	w.Start(t.Context())
	<-time.After(800 * time.Millisecond)
	g.limit(t, 0.3)
	<-time.After(700 * time.Millisecond)
	w.Stop()
	list := w.Series(time.Now())
	q := of(t, list, "quota").Values
	if q[0] != 0.1 || q[len(q)-1] != 0.3 {
		t.Errorf("quota from %v to %v, want 0.1 to 0.3", q[0], q[len(q)-1])
	}
	throttled(t, list, (0.8*0.9+0.7*0.7)/1.5)
}

// throttled compares with what it would be if the thread had a processor whenever
// it may have one. Where it waits for one it is not throttled, so on a machine that
// has other work it is less.
func throttled(t *testing.T, list []model.HostSeries, want float64) {
	t.Helper()
	got := rate(t, list, "throttled")
	t.Logf("throttled %.4g s a second, by arithmetic %.4g", got, want)
	if got < 0.6*want || got > 1.03*want {
		t.Errorf("throttled = %v s a second, want %v", got, want)
	}
}

// TestTruthRunnable: n threads that want to run do or wait, whatever their quota.
func TestTruthRunnable(t *testing.T) {
	measures(t)
	g := makeGroup(t)
	g.limit(t, 0.2)
	const n = 7
	command(t, g, "/bin/sh", "-c", spinners(n))
	w := New(Config{Service: "svc", Group: g.dirs, Step: 50 * time.Millisecond})
	if err := until("all run", func() bool { return running(t, g) == n }); err != nil {
		t.Fatal(err)
	}
	w.Start(t.Context())
	<-time.After(1500 * time.Millisecond)
	w.Stop()
	list := w.Series(time.Now())
	sound(t, list)
	for i, v := range of(t, list, "runnable").Values {
		if v != n {
			t.Errorf("runnable = %v at reading %d, want %d", v, i, n)
		}
	}
	near(t, "threads", last(t, list, "threads"), n+1, 1e-9) // with the shell that started them
	near(t, "threads by time", rate(t, list, "cpu")+rate(t, list, "run_delay"), n, 0.1)
	if v, _ := gained(t, list, "switches_voluntary"); v > n {
		t.Errorf("switches_voluntary = %v of threads that wait for nothing", v)
	}
	if v, _ := gained(t, list, "switches_involuntary"); v < 10 {
		t.Errorf("switches_involuntary = %v of threads that were throttled 15 times", v)
	}
}

// running is how many threads of a group run or want to.
func running(t testing.TB, g *controlGroup) (n int) {
	m, err := cgroup.OpenThreads(g.dirs)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := m.List(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		text, _ := os.ReadFile("/proc/" + strconv.Itoa(id) + "/status") // it may have ended
		if _, runs := parseStatus(text); runs {
			n++
		}
	}
	return n
}

// sleeper waits as often as it is told, each time for a millisecond.
const sleeper = `
import sys, time
for line in sys.stdin:
    for _ in range(int(line)):
        time.sleep(0.001)
    print("done", flush=True)
`

// TestTruthSwitches: a program that waits so many times switches so many times;
// a process tree is a service, too.
func TestTruthSwitches(t *testing.T) {
	t.Parallel()
	python := needPython(t)
	in, out, pid := command(t, nil, "/bin/sh", "-c", python+` -c "$1"; true`, "sh", sleeper) // as the child of a shell
	ask := func(n int) {
		if _, err := fmt.Fprintln(in, n); err != nil {
			t.Fatal(err)
		}
		if line, err := out.ReadString('\n'); line != "done\n" {
			t.Fatalf("it said %q, %v", line, err)
		}
	}
	ask(1)
	w := New(Config{Service: "svc", PID: pid})
	w.Start(t.Context())
	const n = 500
	ask(n)
	w.Stop()
	list := w.Series(time.Now())
	sound(t, list)
	got, _ := gained(t, list, "switches_voluntary")
	near(t, "switches_voluntary", got, n, 0.02)
	if used, _ := gained(t, list, "cpu"); used > 0.5 {
		t.Errorf("cpu = %v s of a program that sleeps", used)
	}
	near(t, "threads", last(t, list, "threads"), 2, 1e-9)
}

func needPython(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return path
}

// TestTruthQueues: what was written and not read waits: in the sender's queue what
// the receiver's does not hold. Other ports are not looked at.
func TestTruthQueues(t *testing.T) {
	t.Parallel()
	s := inNamespace(t, "queues")
	sound(t, s.Series)
	near(t, "send_queue", last(t, s.Series, "send_queue"), s.Truth["written"]-s.Truth["received"], 1e-9)
	near(t, "send_queue_max", last(t, s.Series, "send_queue_max"), s.Truth["largest"], 1e-9)
	near(t, "receive_queue", last(t, s.Series, "receive_queue"), s.Truth["unread"], 1e-9)
	near(t, "connections", last(t, s.Series, "connections"), 2, 1e-9)
	if rtt := last(t, s.Series, "rtt"); rtt <= 0 || rtt > 50 {
		t.Errorf("rtt = %v ms over loopback", rtt)
	}
	if len(s.Failures) > 0 {
		t.Errorf("Failures = %q, want none", s.Failures)
	}
	for _, x := range s.Series {
		if strings.Contains(x.Metric, "[") {
			t.Errorf("there is a series %s of the only address", x.Metric)
		}
	}
}

// listener listens. It keeps its connections, for one that is forgotten is closed.
type listener struct {
	net.Listener
	port int
	kept []net.Conn
}

func listen() (*listener, error) { return listenAt("127.0.0.1:0") }

func listenAt(address string) (*listener, error) {
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("ip: %w: %s", err, out)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return &listener{Listener: l, port: l.Addr().(*net.TCPAddr).Port}, nil
}

// connect returns both ends of a connection.
func (s *listener) connect() (here, there net.Conn, err error) { return s.connectFrom("127.0.0.1") }

// connectFrom is connect from an address.
func (s *listener) connectFrom(address string) (here, there net.Conn, err error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	if there, err = d.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.port)); err == nil {
		here, err = s.Accept()
	}
	s.kept = append(s.kept, here, there)
	return here, there, err
}

// fill writes until nothing more fits.
func fill(c net.Conn) (n int, err error) {
	if err := c.SetWriteDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
		return 0, err
	}
	for err == nil {
		var m int
		m, err = c.Write(make([]byte, 64<<10))
		n += m
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	return n, nil
}

// queued are the bytes in the queues of connections with this local port.
func queued(port int) (send, receive, largest float64) {
	k, err := kernel.OpenSockets(kernel.Connections, false)
	if err != nil {
		return math.NaN(), math.NaN(), math.NaN()
	}
	defer k.Close()
	err = k.Each(uint16(port), func(s *kernel.Socket) {
		send, receive, largest = send+float64(s.Send), receive+float64(s.Receive), max(largest, float64(s.Send))
	})
	if err != nil {
		return math.NaN(), math.NaN(), math.NaN()
	}
	return send, receive, largest
}

func port(c net.Conn) int { return c.LocalAddr().(*net.TCPAddr).Port }

// fillQueues fills one connection of a service, writes a little to another, and
// fills one of a service that is not watched.
func fillQueues() (s seen, err error) {
	watched, err1 := listen()
	other, err2 := listen()
	if err := errors.Join(err1, err2); err != nil {
		return s, err
	}
	full, reader, err1 := watched.connect()
	little, second, err2 := watched.connect()
	elsewhere, _, err3 := other.connect()
	if err := errors.Join(err1, err2, err3); err != nil {
		return s, err
	}
	written, err1 := fill(full)
	_, err2 = fill(elsewhere)
	n, err3 := little.Write(make([]byte, 1000))
	unread, err4 := second.Write(make([]byte, 1+rand.IntN(4000))) // which the service does not read
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return s, err
	}
	written += n
	var received, largest float64
	err = until("every byte is in a queue", func() bool {
		_, r1, _ := queued(port(reader))
		_, r2, _ := queued(port(second))
		var send, waits float64
		send, waits, largest = queued(watched.port)
		received = r1 + r2
		return send+received == float64(written) && waits == float64(unread)
	})
	if err != nil {
		return s, err
	}
	w := New(Config{Service: "svc", PID: os.Getpid(), Ports: []int{watched.port}})
	w.Start(contextOf())
	w.Stop()
	s.Series, s.Failures = w.Series(time.Now()), w.Failures()
	s.Truth = map[string]float64{"written": float64(written), "received": received, "largest": largest,
		"unread": float64(unread)}
	return s, errors.Join(watched.Close(), other.Close())
}

// TestTruthLost: of an end that gets nothing, every byte waits, and is sent again.
func TestTruthLost(t *testing.T) {
	t.Parallel()
	s := inNamespace(t, "lost")
	sound(t, s.Series)
	near(t, "send_queue", last(t, s.Series, "send_queue"), s.Truth["written"], 1e-9)
	if again, _ := gained(t, s.Series, "retransmits"); again < 1 {
		t.Errorf("retransmits = %v of an end that gets nothing, want some", again)
	}
}

// deafen makes the kernel lose what comes in for a connection: a filter that
// lets nothing pass stands before it.
func deafen(c *net.TCPConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	nothing := []unix.SockFilter{{Code: unix.BPF_RET}}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: &nothing[0]})
	})
	return errors.Join(err, failed)
}

// sendToDeaf sends to an end that gets nothing any more.
func sendToDeaf() (s seen, err error) {
	watched, err := listen()
	if err != nil {
		return s, err
	}
	here, there, err := watched.connect()
	if err != nil {
		return s, err
	}
	if _, err := here.Write([]byte("x")); err != nil {
		return s, err
	}
	if _, err := there.Read(make([]byte, 1)); err != nil {
		return s, err
	}
	if err := until("it is acknowledged", func() bool { send, _, _ := queued(watched.port); return send == 0 }); err != nil {
		return s, err
	}
	if err := deafen(there.(*net.TCPConn)); err != nil {
		return s, err
	}
	w := New(Config{Service: "svc", PID: os.Getpid(), Ports: []int{watched.port}, Step: 50 * time.Millisecond})
	w.Start(contextOf())
	n, err := here.Write(make([]byte, 5000))
	if err != nil {
		return s, err
	}
	<-time.After(time.Second) // the kernel sends again after 0.2 s at the latest
	w.Stop()
	s.Series, s.Failures, s.Truth = w.Series(time.Now()), w.Failures(), map[string]float64{"written": float64(n)}
	return s, watched.Close()
}

// TestTruthPeers: of two addresses, one that gets nothing: its bytes wait, and its
// segments are sent again, those of a connection that has ended included.
func TestTruthPeers(t *testing.T) {
	t.Parallel()
	s := inNamespace(t, "peers")
	sound(t, s.Series)
	near(t, "send_queue of one that gets nothing", last(t, s.Series, "send_queue[127_0_0_3]"), s.Truth["written"], 1e-9)
	near(t, "send_queue of the other", last(t, s.Series, "send_queue[127_0_0_2]"), 0, 0)
	all, _ := gained(t, s.Series, "retransmits")
	again, _ := gained(t, s.Series, "retransmits[127_0_0_3]")
	near(t, "retransmits to it", again, all, 1e-9)
	if want := s.Truth["again"]; again < want || again > want+2 { // on a busy machine there is time for another
		t.Errorf("retransmits = %v, want %v of both connections", again, want)
	}
	again, _ = gained(t, s.Series, "retransmits[127_0_0_2]")
	near(t, "retransmits of the other", again, 0, 0)
	if len(s.Failures) > 0 {
		t.Errorf("Failures = %q, want none", s.Failures)
	}
}

// resentFrom is how many segments connections with this local port sent again.
func resentFrom(port int) (n float64) {
	k, err := kernel.OpenSockets(kernel.Connections, true)
	if err != nil {
		return math.NaN()
	}
	defer k.Close()
	err = k.Each(uint16(port), func(s *kernel.Socket) {
		info, _ := s.Info()
		n += float64(info.Retransmits)
	})
	if err != nil {
		return math.NaN()
	}
	return n
}

// deafFrom is a connection from an address at which nothing arrives any more, with so
// many bytes on their way there.
func (s *listener) deafFrom(address string, bytes int) (here net.Conn, err error) {
	here, there, err := s.connectFrom(address)
	if err == nil {
		err = deafen(there.(*net.TCPConn))
	}
	if err == nil {
		_, err = here.Write(make([]byte, bytes))
	}
	return here, err
}

// sendToPeers sends to an address that gets nothing, over a connection that ends and
// then over another one, beside one that is silent. The service listens to both IP
// versions, where there are.
func sendToPeers() (s seen, err error) {
	watched, err := listenAt(":0")
	if err != nil {
		return s, err
	}
	if _, _, err := watched.connectFrom("127.0.0.2"); err != nil {
		return s, err
	}
	w := New(Config{Service: "svc", PID: os.Getpid(), Ports: []int{watched.port}, Step: 50 * time.Millisecond})
	w.Start(contextOf())
	var before, again float64
	allSeen := func() bool {
		again = resentFrom(watched.port)
		return again > 0 && lastOf(w, "retransmits") == before+again
	}
	first, err := watched.deafFrom("127.0.0.3", 5000)
	if err == nil {
		err = until("a segment was sent again", allSeen)
	}
	if err != nil {
		return s, err
	}
	before = again
	// It ends at once, whatever waits.
	if err := errors.Join(first.(*net.TCPConn).SetLinger(0), first.Close()); err != nil {
		return s, err
	}
	_, err = watched.deafFrom("127.0.0.3", 300)
	if err == nil {
		err = until("another segment was sent again", allSeen)
	}
	if err != nil {
		return s, err
	}
	w.Stop()
	s.Series, s.Failures = w.Series(time.Now()), w.Failures()
	s.Truth = map[string]float64{"written": 300, "again": before + again}
	return s, watched.Close()
}

// TestTruthCrowd: of more addresses than have signals of their own, the first have,
// and the others theirs together.
func TestTruthCrowd(t *testing.T) {
	t.Parallel()
	s := inNamespace(t, "crowd")
	sound(t, s.Series)
	var sum, again float64
	for name, want := range s.Truth {
		near(t, name, last(t, s.Series, name), want, 1e-9)
		sum += want
		more, _ := gained(t, s.Series, strings.Replace(name, queueOf, againOf, 1))
		again += more
	}
	near(t, "send_queue", last(t, s.Series, "send_queue"), sum, 1e-9)
	all, _ := gained(t, s.Series, "retransmits")
	near(t, "retransmits", again, all, 1e-9)
	if got := len(of(t, s.Series, "send_queue[127_0_1_1]").Values); got > 4 {
		t.Errorf("peers are told at %d of %d readings 50 ms apart, want one a second", got, len(of(t, s.Series, "send_queue").Values))
	}
}

// sendToCrowd sends to more addresses than have signals of their own; nothing arrives.
func sendToCrowd() (s seen, err error) {
	watched, err := listenAt(":0") // of all addresses, so that no other end has this port
	if err != nil {
		return s, err
	}
	s.Truth = map[string]float64{}
	send := func(i int, name string) {
		bytes := 100 * i
		_, failed := watched.deafFrom(fmt.Sprintf("127.0.1.%d", i), bytes)
		err = errors.Join(err, failed)
		s.Truth[queueOf+name+"]"] += float64(bytes)
	}
	for i := range mostPeers {
		send(1+i, fmt.Sprintf("127_0_1_%d", 1+i))
	}
	w := New(Config{Service: "svc", PID: os.Getpid(), Ports: []int{watched.port}, Step: 50 * time.Millisecond})
	w.Start(contextOf())
	for i := range 4 {
		send(1+mostPeers+i, "other")
	}
	<-time.After(500 * time.Millisecond) // the kernel sends again after 0.2 s at the latest
	w.Stop()
	s.Series, s.Failures = w.Series(time.Now()), w.Failures()
	return s, errors.Join(err, watched.Close())
}

// TestTruthAccept: connections that are not accepted wait, as many as may; the
// others are counted as overflows.
func TestTruthAccept(t *testing.T) {
	t.Parallel()
	s := inNamespace(t, "accept")
	sound(t, s.Series)
	waiting := of(t, s.Series, "accept_queue").Values
	if !slices.Contains(waiting, 3) || waiting[0] != 0 {
		t.Errorf("accept_queue = %v, want 0 at first, and 3 when there are 3", waiting)
	}
	near(t, "accept_limit", last(t, s.Series, "accept_limit"), 4, 1e-9)
	near(t, "accept_queue when it is full", last(t, s.Series, "accept_queue"), 5, 1e-9) // the kernel lets one more in
	over, _ := gained(t, s.Series, "listen_overflows")
	if over < s.Truth["refused"] {
		t.Errorf("listen_overflows = %v, want at least %v", over, s.Truth["refused"])
	}
	if dropped, _ := gained(t, s.Series, "listen_drops"); dropped < over {
		t.Errorf("listen_drops = %v, want at least the overflows, %v", dropped, over)
	}
}

// lastOf is the last value of a signal of the kernel so far.
func lastOf(w *Watch, signal string) float64 {
	for _, s := range w.tracks[0].Series(time.Now()) {
		if s.Metric == signal {
			return s.Values[len(s.Values)-1]
		}
	}
	return math.NaN()
}

// fillAccept connects to a listener that does not accept: three times, and then
// until its queue of four is full and three more were turned away.
func fillAccept() (s seen, err error) {
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		return s, fmt.Errorf("ip: %w: %s", err, out)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: 7000})
	}
	if err == nil {
		err = unix.Listen(fd, 4)
	}
	if err != nil {
		return s, err
	}
	w := New(Config{Service: "svc", PID: os.Getpid(), Ports: []int{7000}, Step: 20 * time.Millisecond})
	w.Start(contextOf())
	for range 3 {
		if _, err := net.Dial("tcp", "127.0.0.1:7000"); err != nil {
			return s, err
		}
	}
	if err := until("a reading has seen them", func() bool { return lastOf(w, "accept_queue") == 3 }); err != nil {
		return s, err
	}
	for range 2 {
		if _, err := net.Dial("tcp", "127.0.0.1:7000"); err != nil {
			return s, err
		}
	}
	refused := 0.
	for range 3 {
		if _, err := net.DialTimeout("tcp", "127.0.0.1:7000", 50*time.Millisecond); err != nil {
			refused++
		}
	}
	w.Stop()
	s.Series, s.Failures, s.Truth = w.Series(time.Now()), w.Failures(), map[string]float64{"refused": refused}
	if refused == 0 {
		return s, io.ErrUnexpectedEOF
	}
	return s, nil
}
