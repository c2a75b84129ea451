package load

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"
)

// Dialer makes connections to hosts, each looked up once. If a host has several
// addresses they are used in turn. One that does not answer within HeadStart is
// overtaken by the next, as RFC 8305 has it, and one that took no connection is
// left out for a while. It is safe for several goroutines.
type Dialer struct {
	// Resolver looks up hosts; nil: as the machine does it.
	Resolver Resolver

	once   sync.Once
	ctx    context.Context // of all attempts
	cancel context.CancelFunc
	under  sync.WaitGroup

	mu    sync.Mutex
	hosts map[string]*Addresses // by host:port
}

// attempt is connecting to an address.
type attempt struct {
	address *Address
	began   time.Time
	// detach keeps it going when the context of who began it is done, cancel ends
	// it.
	detach func() bool
	cancel context.CancelFunc

	conn net.Conn
	err  error
}

// Dial connects to host:port. The error names each address that was tried.
func (d *Dialer) Dial(ctx context.Context, hostPort string) (net.Conn, error) {
	all, err := d.lookup(ctx, hostPort)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	first, retry := all.Pick(), all.Retry(time.Now())
	d.mu.Unlock()
	if retry != nil {
		results := make(chan *attempt, 1)
		d.judge(d.begin(context.WithoutCancel(ctx), retry, results), results)
	}
	return d.race(ctx, all, first)
}

// race tries one address after another, the next if the one before fails or is
// not there within its head start.
func (d *Dialer) race(ctx context.Context, all *Addresses, first *Address) (net.Conn, error) {
	results := make(chan *attempt, all.Len())
	under := []*attempt{d.begin(ctx, first, results)}
	tried := []*Address{first}
	var causes []error
	next := time.NewTicker(HeadStart)
	defer next.Stop()
	for {
		select {
		case a := <-results:
			under = slices.DeleteFunc(under, func(o *attempt) bool { return o == a })
			if a.err == nil {
				d.won(a, under, results)
				return a.conn, nil
			}
			causes = append(causes, a.err)
			d.mu.Lock()
			if Lack(a.err, a.address.HasWorked()) == nil {
				a.address.Failed(time.Now(), a.err)
			}
			d.mu.Unlock()
		case <-next.C:
		}
		d.mu.Lock()
		beside := all.Pick(tried...)
		d.mu.Unlock()
		switch {
		case beside != nil && ctx.Err() == nil:
			tried = append(tried, beside)
			under = append(under, d.begin(ctx, beside, results))
			next.Reset(HeadStart)
		case len(under) == 0:
			return nil, Unconnected(causes)
		}
	}
}

// begin begins to connect.
//
//nolint:contextcheck // an attempt may go on when the operation that began it is over
func (d *Dialer) begin(ctx context.Context, address *Address, results chan<- *attempt) *attempt {
	a := &attempt{address: address, began: time.Now()}
	own, cancel := context.WithCancel(d.ctx)
	a.cancel, a.detach = cancel, context.AfterFunc(ctx, cancel)
	d.under.Go(func() {
		defer cancel()
		defer a.detach()
		a.conn, a.err = (&net.Dialer{}).DialContext(own, "tcp", address.String())
		if a.err != nil && own.Err() != nil {
			a.err = &UnansweredError{Address: address.String(), For: AwaitTCP, Waited: time.Since(a.began)}
		}
		results <- a
	})
	return a
}

// won notes which address took a connection, and lets one attempt with each of
// the others go on, to see whether it would have.
func (d *Dialer) won(winner *attempt, others []*attempt, results <-chan *attempt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	winner.address.Opened()
	now := time.Now()
	for _, a := range others {
		waited := now.Sub(a.began)
		if !a.address.Overtaken(now, &UnansweredError{Address: a.address.String(), For: AwaitTCP, Waited: waited}) {
			a.address = nil // another attempt with it goes on
			a.cancel()
		} else if !a.detach() {
			a.cancel()
		}
		d.judge(a, results)
	}
}

// judge ends an attempt after JudgeAfter, and waits, for nobody, for one of those that
// are under way.
func (d *Dialer) judge(a *attempt, results <-chan *attempt) {
	time.AfterFunc(JudgeAfter-time.Since(a.began), a.cancel)
	d.under.Go(func() {
		a := <-results
		if a.err == nil {
			_ = a.conn.Close() // nothing was sent
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		switch {
		case a.address == nil:
		case a.err == nil:
			a.address.Worked()
		case d.ctx.Err() != nil || time.Since(a.began) < JudgeAfter && isUnanswered(a.err):
			a.address.GaveUp()
		default:
			a.address.Failed(time.Now(), a.err)
		}
	})
}

// lookup finds the addresses of a host.
func (d *Dialer) lookup(ctx context.Context, hostPort string) (*Addresses, error) {
	d.once.Do(func() {
		d.hosts = make(map[string]*Addresses)
		d.ctx, d.cancel = context.WithCancel(context.WithoutCancel(ctx))
	})
	d.mu.Lock()
	all := d.hosts[hostPort]
	d.mu.Unlock()
	if all != nil {
		return all, nil
	}
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	found, err := Lookup(ctx, cmp.Or[Resolver](d.Resolver, net.DefaultResolver), host, port)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.hosts[hostPort] == nil { // another may have been quicker
		d.hosts[hostPort] = NewAddresses(found)
	}
	return d.hosts[hostPort], nil
}

// Uses tell what became of the addresses since they were asked for last.
func (d *Dialer) Uses() (out []AddressUse) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, all := range d.hosts {
		out = addUses(out, all.Uses())
		all.Begin()
	}
	return out
}

// Close ends attempts that are under way for nobody.
func (d *Dialer) Close() error {
	d.once.Do(func() { d.cancel = func() {} })
	d.cancel()
	d.under.Wait()
	return nil
}

func isUnanswered(err error) bool {
	_, ok := errors.AsType[*UnansweredError](err)
	return ok
}
