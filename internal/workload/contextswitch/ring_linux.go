package contextswitch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/kernel"
)

// processors are those that this process may use.
func processors() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("finding the processors that may be used: %w", err)
	}
	var out []int
	for i := range len(set) * 64 {
		if set.IsSet(i) {
			out = append(out, i)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("there is no processor that may be used")
	}
	return out, nil
}

// pipes are pairs of a reading and a writing end.
type pipes [][2]int

func newPipes(n int) (out pipes, err error) {
	for range n {
		var p [2]int
		if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
			out.close(0)
			out.close(1)
			return nil, fmt.Errorf("making a pipe for each thread: %w; allow %d open files (ulimit -n), or measure fewer threads", err, 4*n+100)
		}
		out = append(out, p)
	}
	return out, nil
}

// close closes all reading (0) or writing (1) ends.
func (p pipes) close(end int) {
	for _, fds := range p {
		_ = unix.Close(fds[end]) // nothing is lost in them
	}
}

// take reads a byte; false: there will be none.
func take(fd int) bool {
	var b [1]byte
	for {
		n, err := unix.Read(fd, b[:])
		if !errors.Is(err, unix.EINTR) {
			return n == 1
		}
	}
}

func give(fd int) {
	for {
		if _, err := unix.Write(fd, []byte{1}); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// bind keeps this goroutine on one thread, and that on one processor, until both end:
// it is never unlocked, so that no other goroutine gets a thread that is bound.
func bind(cpu int) error {
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("binding a thread to processor %d: %w", cpu, err)
	}
	return nil
}

// ring is threads that pass a byte around.
type ring struct {
	pipes pipes
	tids  []int
	left  atomic.Int64  // rounds until the first thread keeps the byte
	kept  chan struct{} // it did
	wg    sync.WaitGroup
}

// newRing starts the threads, which then sleep.
func newRing(threads, cpu int) (*ring, error) {
	p, err := newPipes(threads)
	if err != nil {
		return nil, err
	}
	r := &ring{pipes: p, tids: make([]int, threads), kept: make(chan struct{})}
	begun := make(chan error, threads)
	for i := range threads {
		r.wg.Go(func() {
			err := bind(cpu)
			r.tids[i] = unix.Gettid()
			begun <- err
			r.turns(i)
		})
	}
	for range threads {
		err = errors.Join(err, <-begun)
	}
	if err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// turns is what one thread does.
func (r *ring) turns(i int) {
	in, out := r.pipes[i][0], r.pipes[(i+1)%len(r.pipes)][1]
	for take(in) {
		if i == 0 && r.left.Add(-1) < 0 {
			r.kept <- struct{}{}
			continue
		}
		give(out)
	}
}

// round lets the byte go around so often, and waits until it has.
func (r *ring) round(rounds int64) {
	r.left.Store(rounds)
	give(r.pipes[0][1])
	<-r.kept
}

// close ends the threads, which must sleep.
func (r *ring) close() {
	r.pipes.close(1)
	r.wg.Wait()
	r.pipes.close(0)
}

// spent is what the kernel has counted of all threads: processor time in ns, and
// context switches of both kinds.
func (r *ring) spent() (ns, switches int64, err error) {
	for _, tid := range r.tids {
		var t unix.Timespec
		// The clock of another thread's processor time (clock_getcpuclockid(3)).
		if err := unix.ClockGettime(int32(^tid<<3|6), &t); err != nil {
			return 0, 0, fmt.Errorf("reading the processor time of a thread: %w", err)
		}
		n, err := switchesOf(tid)
		if err != nil {
			return 0, 0, err
		}
		ns, switches = ns+t.Nano(), switches+n
	}
	return ns, switches, nil
}

// switchesOf counts the context switches of a thread of this process.
func switchesOf(tid int) (sum int64, err error) {
	status, err := os.ReadFile("/proc/self/task/" + strconv.Itoa(tid) + "/status")
	if err != nil {
		return 0, fmt.Errorf("reading the context switches of a thread: %w", err)
	}
	found := 0
	kernel.Pairs(status, func(key []byte, n uint64) {
		if strings.HasSuffix(string(key), "voluntary_ctxt_switches") { // of both kinds
			sum, found = sum+int64(n), found+1
		}
	})
	if found != 2 {
		return 0, errors.New("the kernel does not say how many context switches a thread has made; use another kind of node")
	}
	return sum, nil
}

// alone passes a byte through as many pipes without a switch: ns of processor time a
// pass. It must run on a bound thread.
func (p pipes) alone(rounds int64) (float64, error) {
	var from, to unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &from)
	for range rounds {
		for _, fds := range p {
			give(fds[1])
			take(fds[0])
		}
	}
	err = errors.Join(err, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &to))
	return float64(to.Nano()-from.Nano()) / float64(rounds*int64(len(p))), err
}

// rounds measures batches of rounds for about so long, with those of one thread
// alone in between.
func rounds(ctx context.Context, threads, cpu int, d time.Duration) ([]batch, error) {
	// With a processor of the runtime for each thread, none waits for another's after
	// its system call.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads + 4))
	r, err := newRing(threads, cpu)
	if err != nil {
		return nil, err
	}
	defer r.close()
	beside, err := newPipes(threads)
	if err != nil {
		return nil, err
	}
	defer beside.close(0)
	defer beside.close(1)
	var out []batch
	done := make(chan error)
	go func() { // a thread of its own, which ends with it
		err := bind(cpu)
		if err == nil {
			out, err = r.batches(ctx, beside, d)
		}
		done <- err
	}()
	err = errors.Join(<-done, ctx.Err())
	return out, err
}

// batches begins with a short one, by which it knows how many rounds a batch takes.
func (r *ring) batches(ctx context.Context, beside pipes, d time.Duration) (out []batch, err error) {
	const trial = 4
	began := time.Now()
	r.round(trial)
	if _, err := beside.alone(trial); err != nil {
		return nil, err
	}
	each := max(1, int64(d/batches/(max(time.Since(began), time.Microsecond)/trial)))
	for len(out) < batches && ctx.Err() == nil {
		pass, err := beside.alone(each)
		ns, switches, before := r.spent()
		r.round(each)
		nsAfter, switchesAfter, after := r.spent()
		if err = errors.Join(err, before, after); err != nil {
			return nil, err
		}
		out = append(out, batch{passes: each * int64(len(r.tids)), switches: switchesAfter - switches,
			cpu: float64(nsAfter - ns), pass: pass})
	}
	return out, nil
}
