package load

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

func some(n int) *Addresses {
	var all []netip.AddrPort
	for i := range n {
		all = append(all, netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, byte(i)}), 80))
	}
	return NewAddresses(all)
}

// TestPick: addresses are used in turn; those that failed are not, until all have.
func TestPick(t *testing.T) {
	a := some(3)
	now := time.Now()
	var got []int
	for i := range 9 {
		switch i {
		case 3:
			a.all[1].Failed(now, syscall.ECONNREFUSED)
		case 7:
			a.all[0].Failed(now, syscall.ECONNREFUSED)
			a.all[2].Failed(now, syscall.ECONNREFUSED)
		}
		got = append(got, int(a.Pick().Addr().As4()[3]))
	}
	if want := []int{0, 1, 2, 0, 2, 0, 2, 0, 1}; !slices.Equal(got, want) {
		t.Errorf("addresses were used in the order %v, want %v", got, want)
	}
	first := a.Pick()
	second := a.Pick(first)
	third := a.Pick(first, second)
	if first == second || third == nil || third == first || third == second || a.Pick(first, second, third) != nil {
		t.Errorf("not all of three addresses are tried: %v, %v, %v", first, second, third)
	}
}

// TestRetry: an address that failed is tried again after 10 s, then rarely, at most
// once at a time, and never where no other is in use: then operations try it.
func TestRetry(t *testing.T) {
	a := some(2)
	now := time.Now()
	var waits []time.Duration
	for range 7 {
		a.all[0].Failed(now, syscall.ECONNREFUSED)
		begin := now
		for now = begin; a.Retry(now) == nil; now = now.Add(time.Second) {
			if now.Sub(begin) > time.Hour {
				t.Fatal("it is never tried again")
			}
		}
		waits = append(waits, now.Sub(begin))
		if a.Retry(now.Add(time.Hour)) != nil {
			t.Fatal("it is tried twice at a time")
		}
	}
	const s = time.Second
	if want := []time.Duration{10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 300 * s, 300 * s}; !slices.Equal(waits, want) {
		t.Errorf("it was tried again after %v, want %v", waits, want)
	}
	a.all[0].GaveUp()
	if a.Retry(now) == nil {
		t.Error("it is not tried again after an attempt without a result")
	}
	a.all[0].Opened()
	if got := a.Uses(); got[0].State != AddressUsed || a.Retry(now.Add(time.Hour)) != nil {
		t.Errorf("after it has worked: %+v", got)
	}
	a.all[0].Failed(now, syscall.ECONNREFUSED)
	a.all[1].Failed(now, syscall.ECONNREFUSED)
	if a.Retry(now.Add(time.Hour)) != nil {
		t.Error("one is tried for nobody while none is in use")
	}
}

// TestOvertaken: an address that was slower once, and has worked before, is not told
// to be dead; one that was never there is.
func TestOvertaken(t *testing.T) {
	a := some(3)
	now := time.Now()
	slow := &UnansweredError{Address: "127.0.0.0:80", For: AwaitTCP, Waited: HeadStart}
	a.all[0].Opened()
	for i := range 2 {
		if !a.all[i].Overtaken(now, slow) || a.all[i].Overtaken(now, slow) {
			t.Error("not exactly one attempt goes on")
		}
	}
	a.all[2].Failed(now, fmt.Errorf("connect: %w", syscall.EHOSTUNREACH))
	var states []AddressState
	for _, u := range a.Uses() {
		states = append(states, u.State)
	}
	if want := []AddressState{AddressUsed, AddressUnanswered, AddressUnreachable}; !slices.Equal(states, want) {
		t.Errorf("the states are %v, want %v", states, want)
	}
	if uses := some(1).Uses(); uses != nil {
		t.Errorf("the only address is told of: %v", uses)
	}
}

// TestSpare: an address that nobody has tried is not used, nor is one that took a
// connection that carried nothing; one with connections from before is.
func TestSpare(t *testing.T) {
	a := some(4)
	a.all[1].Opened()
	a.all[2].Worked()
	a.all[3].Failed(time.Now(), syscall.ECONNREFUSED)
	a.Begin()
	var states []AddressState
	for _, u := range a.Uses() {
		states = append(states, u.State)
	}
	if want := []AddressState{AddressSpare, AddressUsed, AddressSpare, AddressRefused}; !slices.Equal(states, want) {
		t.Errorf("the states are %v, want %v", states, want)
	}
}

// TestAddUses: an address is used if any loop or generator uses it.
func TestAddUses(t *testing.T) {
	var u Usage
	u.AddAddresses([]AddressUse{{"b", AddressRefused, 0, syscall.ECONNREFUSED}, {"a", AddressUsed, 3, nil}})
	u.AddAddresses([]AddressUse{{"b", AddressUsed, 2, nil}, {"a", AddressUnanswered, 0, errLate}})
	u.AddAddresses([]AddressUse{{"c", AddressSpare, 0, nil}, {"d", AddressRefused, 0, errLate}, {"b", AddressSpare, 0, nil}})
	u.AddAddresses([]AddressUse{{"c", AddressUnanswered, 0, errLate}, {"d", AddressSpare, 0, nil}})
	want := []AddressUse{{"a", AddressUsed, 3, nil}, {"b", AddressUsed, 2, nil},
		{"c", AddressUnanswered, 0, errLate}, {"d", AddressRefused, 0, errLate}}
	if !slices.Equal(u.Addresses, want) {
		t.Errorf("%v, want %v", u.Addresses, want)
	}
}

// TestLack: what the machine lacks is told from what the other side does.
func TestLack(t *testing.T) {
	for _, c := range []struct {
		err          error
		worked, lack bool
	}{
		{Unconnected([]error{syscall.EADDRNOTAVAIL, syscall.ECONNREFUSED}), true, false},
		{Unconnected([]error{syscall.EMFILE, syscall.EMFILE}), false, true},
		{syscall.EMFILE, false, true}, {syscall.ENFILE, true, true}, {syscall.ENOBUFS, false, true},
		{syscall.ENOMEM, true, true},
		{syscall.EADDRNOTAVAIL, true, true}, {syscall.EADDRNOTAVAIL, false, false},
		{syscall.ECONNREFUSED, true, false}, {syscall.EHOSTUNREACH, true, false}, {errLate, true, false},
	} {
		got := Lack(&Error{Kind: ErrConnect, Err: fmt.Errorf("dial: %w", c.err)}, c.worked)
		if (got != nil) != c.lack || c.lack && !errors.Is(got, model.ErrUnavailable) {
			t.Errorf("Lack(%v, %v) = %v", c.err, c.worked, got)
		}
	}
}

// TestJudgeEndsEach: an attempt that is overtaken ends after JudgeAfter, also where the
// result of another came before.
func TestJudgeEndsEach(t *testing.T) {
	for silent := range 2 { // whoever waits for results first
		testJudge(t, silent, 1-silent)
	}
}

func testJudge(t *testing.T, silent, refused int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &Dialer{}
		d.ctx, d.cancel = context.WithCancel(t.Context())
		all := some(2)
		results := make(chan *attempt, 2)
		var attempts []*attempt
		var ended []context.Context
		for i := range all.all {
			ctx, cancel := context.WithCancel(d.ctx)
			a := &attempt{address: &all.all[i], began: time.Now(), cancel: cancel}
			a.address.Overtaken(time.Now(), &UnansweredError{})
			attempts, ended = append(attempts, a), append(ended, ctx)
			d.judge(a, results)
		}
		attempts[refused].err = syscall.ECONNREFUSED
		results <- attempts[refused]
		<-time.After(JudgeAfter + time.Millisecond)
		if ended[silent].Err() == nil {
			t.Errorf("an attempt goes on after %v", JudgeAfter)
		}
		attempts[silent].err = &UnansweredError{Waited: JudgeAfter}
		results <- attempts[silent]
		d.under.Wait()
		for _, a := range attempts {
			if !a.address.away || a.address.trying {
				t.Errorf("%+v, want it to be tried again later", a.address)
			}
		}
	})
}
