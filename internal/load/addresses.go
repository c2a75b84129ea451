package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// Times of connecting to a host that has several addresses.
const (
	// HeadStart is how long an address may take before another is tried beside it:
	// the "Connection Attempt Delay" of RFC 8305, section 5.
	HeadStart = 250 * time.Millisecond
	// JudgeAfter is how long an attempt goes on that another has overtaken: a SYN
	// that was lost is sent again after a second, and the address is none the worse
	// for it.
	JudgeAfter = 3 * time.Second
	// An address that failed is tried again after retryFirst, and each time it
	// fails after twice as long, up to retryLast.
	retryFirst = 10 * time.Second
	retryLast  = 5 * time.Minute
)

// Resolver looks up the addresses of a host; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Lookup returns the addresses of a host, in the order in which they are to be
// tried. The error is model.ErrUsage where there is no such host, and
// model.ErrUnavailable where nobody can say.
func Lookup(ctx context.Context, r Resolver, host, port string) ([]netip.AddrPort, error) {
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("%w: port %q of %s: %w", model.ErrUsage, port, host, err)
	}
	var addresses []netip.Addr
	if one, err := netip.ParseAddr(host); err == nil {
		addresses = []netip.Addr{one}
	} else if addresses, err = r.LookupNetIP(ctx, "ip", host); err != nil {
		if dns, ok := errors.AsType[*net.DNSError](err); !ok || !dns.IsNotFound {
			return nil, fmt.Errorf("%w: looking up the host %q: %w", model.ErrUnavailable, host, err)
		}
		addresses = nil
	}
	var out []netip.AddrPort
	for _, a := range addresses {
		if at := netip.AddrPortFrom(a.Unmap(), uint16(number)); !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: %w", model.ErrUsage, &UnknownHostError{Host: host})
	}
	return out, nil
}

// UnknownHostError says that a host has no address.
type UnknownHostError struct{ Host string }

func (e *UnknownHostError) Error() string {
	return fmt.Sprintf("unknown host %q; check the URL", e.Host)
}

// Addresses are those of one host and port, as one user of them sees them: which
// are in use, and what is wrong with the others. They are not for several
// goroutines at a time.
type Addresses struct {
	all  []Address
	turn int // where Pick begins to look
}

// Address is one of [Addresses].
type Address struct {
	netip.AddrPort

	opened  int64 // connections
	worked  bool  // one was made, ever
	carried bool  // and operations went over it, ever
	away    bool  // it is not used, until an attempt shows that it can be
	trying  bool  // such an attempt is under way
	retryAt time.Time
	pause   time.Duration // before retryAt
	cause   error         // of the last failure
}

// NewAddresses are all in use.
func NewAddresses(all []netip.AddrPort) *Addresses {
	a := &Addresses{all: make([]Address, len(all))}
	for i, at := range all {
		a.all[i].AddrPort = at
	}
	return a
}

// Len is how many there are.
func (a *Addresses) Len() int { return len(a.all) }

// Pick returns an address to try beside, or after, those that were tried: the
// addresses in turn, those that are in use before others. Nil: all were tried.
func (a *Addresses) Pick(tried ...*Address) *Address {
	var left *Address
	for i := range a.all {
		one := &a.all[(a.turn+i)%len(a.all)]
		switch {
		case slices.Contains(tried, one):
		case !one.away:
			a.turn += i + 1
			return one
		case left == nil:
			left = one
		}
	}
	if left != nil {
		a.turn++
	}
	return left
}

// Retry returns an address that is not in use and is to be tried again now; nil
// if there is none. An attempt begins with it.
func (a *Addresses) Retry(now time.Time) *Address {
	for i := range a.all {
		if one := &a.all[i]; one.away && !one.trying && !now.Before(one.retryAt) && a.inUse() > 0 {
			one.trying = true
			return one
		}
	}
	return nil
}

func (a *Addresses) inUse() (n int) {
	for i := range a.all {
		if !a.all[i].away {
			n++
		}
	}
	return n
}

// Worked notes that a connection was made: the address is in use from now on.
func (a *Address) Worked() {
	a.worked, a.away, a.trying, a.pause, a.cause = true, false, false, 0, nil
}

// Opened notes a connection that is used.
func (a *Address) Opened() {
	a.Worked()
	a.carried = true
	a.opened++
}

// Overtaken notes that another address was quicker by HeadStart: it is not used
// until an attempt that goes on meanwhile, or a later one, has shown that it can
// be. why is what is known so far. goesOn says that this attempt is to go on; of
// others nothing more is learnt.
func (a *Address) Overtaken(now time.Time, why error) (goesOn bool) {
	if a.away {
		return false
	}
	a.away, a.trying, a.retryAt, a.cause = true, true, now, why
	return true
}

// Failed notes that an attempt has failed.
func (a *Address) Failed(now time.Time, why error) {
	a.pause = min(max(2*a.pause, retryFirst), retryLast)
	a.away, a.trying, a.retryAt, a.cause = true, false, now.Add(a.pause), why
}

// GaveUp notes that an attempt has ended without a result.
func (a *Address) GaveUp() { a.trying = false }

// Away reports whether it is not used now.
func (a *Address) Away() bool { return a.away }

// HasWorked reports whether a connection was ever made to it.
func (a *Address) HasWorked() bool { return a.worked }

// Begin counts connections anew.
func (a *Addresses) Begin() {
	for i := range a.all {
		a.all[i].opened = 0
	}
}

// Uses tell of each address what became of it, where there are several.
func (a *Addresses) Uses() (out []AddressUse) {
	if len(a.all) < 2 {
		return nil
	}
	for _, one := range a.all {
		use := AddressUse{Address: one.String(), State: AddressUsed, Opened: one.opened}
		switch {
		case one.away && (one.pause > 0 || !one.worked):
			use.State, use.Cause = addressState(one.cause), one.cause
		case !one.carried:
			use.State = AddressSpare
		}
		out = append(out, use)
	}
	return out
}

// AddressUse is what became of one of several addresses of the target in a run.
type AddressUse struct {
	Address string       `json:"address"` // with its port
	State   AddressState `json:"state"`
	// Opened is how many connections were made to it.
	Opened int64 `json:"opened"`
	Cause  error `json:"-"` // of a state that is neither AddressUsed nor AddressSpare
}

// AddressState says whether operations went to an address, or why not.
type AddressState string

// The states of addresses.
const (
	AddressUsed        AddressState = "used"
	AddressSpare       AddressState = "spare" // no operation went to it, and nothing is wrong with it that is known
	AddressRefused     AddressState = "refused"
	AddressUnreachable AddressState = "unreachable"
	AddressUnanswered  AddressState = "unanswered"
	AddressFailed      AddressState = "failed" // in another way
)

func addressState(err error) AddressState {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return AddressRefused
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH),
		errors.Is(err, syscall.EADDRNOTAVAIL):
		return AddressUnreachable
	}
	if isUnanswered(err) {
		return AddressUnanswered
	}
	return AddressFailed
}

// Awaited is what a client waits for.
type Awaited int

// What an operation over TCP waits for, one after the other.
const (
	AwaitTCP    Awaited = iota // the handshake
	AwaitTLS                   // that of TLS
	AwaitAnswer                // the first byte of the answer
	AwaitRest                  // the rest of it
)

// UnansweredError says that an address did not answer, and to what.
type UnansweredError struct {
	Address string
	For     Awaited
	Waited  time.Duration
}

func (e *UnansweredError) Error() string {
	text := [...]string{"no answer to the TCP handshake", "connected, no answer to TLS",
		"connected, no answer to the request",
		"the answer began and did not end"}[e.For]
	return fmt.Sprintf("%s: %s within %v", e.Address, text, rounded(e.Waited))
}

// Timeout implements net.Error.
func (e *UnansweredError) Timeout() bool { return true }

// Temporary implements net.Error.
func (e *UnansweredError) Temporary() bool { return false }

// rounded is a time for people: 10 s, 250 ms.
func rounded(d time.Duration) time.Duration {
	switch {
	case d >= 10*time.Second:
		return d.Round(time.Second)
	case d >= time.Second:
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Millisecond)
}

// Unconnected joins what is wrong with each address that was tried.
func Unconnected(causes []error) error {
	if len(causes) == 1 {
		return causes[0]
	}
	return &unconnected{causes}
}

// unconnected is that several addresses took no connection.
type unconnected struct{ causes []error }

func (e *unconnected) Unwrap() []error { return e.causes }

func (e *unconnected) Error() string {
	var parts []string
	for _, c := range e.causes {
		parts = append(parts, strings.TrimPrefix(c.Error(), "dial tcp "))
	}
	slices.Sort(parts)
	return strings.Join(slices.Compact(parts), "; ")
}

// addUses adds up what several generators, or loops of one, saw of addresses: one
// is used if it is for any of them, and spare only if nobody knows more.
func addUses(sum, more []AddressUse) []AddressUse {
	for _, u := range more {
		i := slices.IndexFunc(sum, func(o AddressUse) bool { return o.Address == u.Address })
		if i < 0 {
			sum = append(sum, u)
			continue
		}
		sum[i].Opened += u.Opened
		if u.State == AddressUsed || sum[i].State == AddressSpare {
			sum[i].State, sum[i].Cause = u.State, u.Cause
		}
	}
	slices.SortStableFunc(sum, func(a, b AddressUse) int { return cmp.Compare(a.Address, b.Address) })
	return sum
}

// AddAddresses takes what a part of a driver saw of the target's addresses.
func (u *Usage) AddAddresses(uses []AddressUse) { u.Addresses = addUses(u.Addresses, uses) }
