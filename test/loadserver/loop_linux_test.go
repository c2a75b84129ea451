package loadserver

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// inside is a server in this process, so that the race detector sees it and
// goroutines that stay are found.
type inside struct {
	t       *testing.T
	address string
	to      *gob.Encoder
	from    *gob.Decoder
}

func startInside(t *testing.T, b Behaviour) *inside {
	t.Helper()
	orders, ordersIn := io.Pipe()
	repliesOut, replies := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- serve(orders, replies, false) }()
	s := &inside{t: t, to: gob.NewEncoder(ordersIn), from: gob.NewDecoder(repliesOut)}
	t.Cleanup(func() {
		if err := errors.Join(ordersIn.Close(), <-ended); err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	s.address = s.ask(b).Address
	return s
}

func (s *inside) ask(what any) (r reply) {
	s.t.Helper()
	if err := errors.Join(s.to.Encode(what), s.from.Decode(&r)); err != nil {
		s.t.Fatal(err)
	}
	if r.Failure != "" {
		s.t.Fatal(r.Failure)
	}
	return r
}

// take waits until so many requests have ended.
func (s *inside) take(n int) Record {
	s.t.Helper()
	var all Record
	for len(all.Requests) < n {
		r := s.ask(order{}).Record
		all.Requests = append(all.Requests, r.Requests...)
		all.Accepted += r.Accepted
		all.Malformed += r.Malformed
	}
	inOrder(all.Requests)
	return all
}

// client is one connection.
type client struct {
	t *testing.T
	net.Conn
	r *bufio.Reader
}

func (s *inside) dial() *client {
	s.t.Helper()
	c, err := net.Dial("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		s.t.Fatal(err)
	}
	return &client{s.t, c, bufio.NewReader(c)}
}

func (c *client) send(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		c.t.Fatal(err)
	}
}

// answer reads one: its status, body, and whether the connection ends.
func (c *client) answer(method string) (status int, body string, last bool) {
	c.t.Helper()
	r, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		c.t.Fatal(err)
	}
	b, err := io.ReadAll(r.Body)
	if err := errors.Join(err, r.Body.Close()); err != nil {
		c.t.Fatal(err)
	}
	return r.StatusCode, string(b), r.Close
}

func (c *client) expect(method string, status, length int, last bool) {
	c.t.Helper()
	s, body, l := c.answer(method)
	if s != status || body != strings.Repeat("x", length) || l != last {
		c.t.Fatalf("status %d, %d bytes, last %v; want %d, %d, %v", s, len(body), l, status, length, last)
	}
}

// expectEnd wants the connection to be closed, by reset or not.
func (c *client) expectEnd(reset bool) {
	c.t.Helper()
	_, err := c.r.ReadByte()
	if reset != errors.Is(err, syscall.ECONNRESET) || !reset && !errors.Is(err, io.EOF) {
		c.t.Fatalf("the connection ends with %v; want a reset: %v", err, reset)
	}
}

const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

func TestAnswers(t *testing.T) {
	s := startInside(t, Behaviour{Body: 7})
	c := s.dial()
	c.send(get)
	c.expect("GET", 200, 7, false)
	c.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n")
	c.expect("HEAD", 200, 0, false)
	c.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n")
	c.send("hello" + get + get[:10]) // the rest of one, a whole one, the first of a third
	c.expect("POST", 200, 7, false)
	c.expect("GET", 200, 7, false)
	c.send(get[10:])
	c.expect("GET", 200, 7, false)
	c.send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
	c.expect("GET", 200, 7, true)
	c.expectEnd(false)
	old := s.dial()
	old.send("GET / HTTP/1.0\r\n\r\n")
	old.expect("GET", 200, 7, true)
	if r := s.take(7); r.Count(OK) != 7 || r.Accepted != 2 || r.Malformed != 0 {
		t.Errorf("%d OK on %d connections, %d malformed; want 7, 2, 0", r.Count(OK), r.Accepted, r.Malformed)
	}
}

// TestAnswersLarge: more than the kernel takes at once.
func TestAnswersLarge(t *testing.T) {
	const size = 8 << 20
	c := startInside(t, Behaviour{Body: size}).dial()
	for range 3 {
		c.send(get)
		c.expect("GET", 200, size, false)
	}
}

// TestChunkedAndClosing: bodies in chunks, and one answer to a connection.
func TestChunkedAndClosing(t *testing.T) {
	s := startInside(t, Behaviour{Chunked: true, Closing: true})
	for _, size := range []int{0, 1, 7, 3*maxChunk + 1} {
		s.ask(order{Set: true, New: Behaviour{Body: size, Chunked: true, Closing: true}})
		c := s.dial()
		c.send(get)
		c.expect("GET", 200, size, true)
		c.expectEnd(false)
	}
	c := s.dial()
	c.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n")
	c.expect("HEAD", 200, 0, true)
	c.expectEnd(false)
	if r := s.take(5); r.Count(OK) != 5 || r.Accepted != 5 {
		t.Errorf("%d OK on %d connections, want 5 on 5", r.Count(OK), r.Accepted)
	}
}

func TestMalformed(t *testing.T) {
	s := startInside(t, Behaviour{})
	for _, bad := range []string{"\r\n\r\n", "GET / HTTP/3\r\n\r\n", strings.Repeat("y", maxHead+1)} {
		c := s.dial()
		c.send(bad)
		c.expect("GET", 400, 0, true)
	}
	c := s.dial()
	c.send(get)
	c.expect("GET", 200, 0, false)
	if r := s.take(1); r.Malformed != 3 {
		t.Errorf("%d malformed, want 3", r.Malformed)
	}
}

func TestFailures(t *testing.T) {
	s := startInside(t, Behaviour{})
	all := func(how Failure) *client {
		s.ask(order{Set: true, New: Behaviour{Fail: Fail{Share: 1, How: how}, Body: 3}})
		c := s.dial()
		c.send(get)
		return c
	}
	all("").expect("GET", 503, 0, false)
	all(Redirect).expect("GET", 302, 0, false)
	all(Close).expectEnd(false)
	all(Reset).expectEnd(true)
	silent := all(Silent)
	r := s.take(5)
	for _, o := range []Outcome{Failed, Redirected, Closed, WasReset, Unanswered} {
		if r.Count(o) != 1 {
			t.Errorf("%d requests ended %v, want 1", r.Count(o), o)
		}
	}
	// It would have been answered by now, like this one after it.
	c := s.dial()
	s.ask(order{Set: true})
	c.send(get)
	c.expect("GET", 200, 0, false)
	if err := silent.SetReadDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	if b, err := silent.r.ReadByte(); err == nil {
		t.Errorf("an answer that begins with %q to what is never answered", b)
	}
}

// TestGone: who leaves before the answer is due is written down as that.
func TestGone(t *testing.T) {
	s := startInside(t, Behaviour{Service: 20 * time.Millisecond})
	c := s.dial()
	c.send(get)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if r := s.take(1); r.Count(Gone) != 1 {
		t.Errorf("%+v, want one that is gone", r.Requests)
	}
}

// TestQueue: of five requests that come together to two workers, two are
// answered after one service time, two after two, and one, without room in the
// queue, at once. The clients see each answer when the record says, and never
// before it is due.
func TestQueue(t *testing.T) {
	const service = 200 * time.Millisecond
	s := startInside(t, Behaviour{Workers: 2, Service: service, Room: 4})
	var wg sync.WaitGroup
	begun := Now()
	for range 5 {
		c := s.dial()
		wg.Go(func() {
			c.send(get)
			_, _, _ = c.answer("GET")
		})
	}
	wg.Wait()
	took := Now() - begun
	r := s.take(5)
	if r.Count(OK) != 4 || r.Count(Refused) != 1 {
		t.Fatalf("%d OK, %d refused; want 4, 1", r.Count(OK), r.Count(Refused))
	}
	for i, x := range r.Requests {
		want := [5]time.Duration{service, service, 2 * service, 2 * service, 0}[i]
		got := x.Due - x.Arrived
		if got > want || got < want-x.Arrived+r.Requests[0].Arrived || x.Sent < x.Due || x.Arrived < begun {
			t.Errorf("request %d: %+v took %v, want %v less what it came later", i, x, got, want)
		}
	}
	if took < 2*service {
		t.Errorf("all were answered after %v, want %v", took, 2*service)
	}
}

// TestSetWhileRunning: clients who never pause see the change, and nothing is
// lost: what they were answered is what the record says.
func TestSetWhileRunning(t *testing.T) {
	s := startInside(t, Behaviour{Service: time.Millisecond})
	const clients, rounds = 4, 60
	var wg sync.WaitGroup
	halfway := make(chan struct{}, clients)
	statuses := make(chan int, clients*rounds)
	for range clients {
		c := s.dial()
		wg.Go(func() {
			for i := range rounds {
				if i == rounds/2 {
					halfway <- struct{}{}
				}
				c.send(get)
				status, _, _ := c.answer("GET")
				statuses <- status
			}
		})
	}
	<-halfway
	since := s.ask(order{Set: true, New: Behaviour{Service: 2 * time.Millisecond, Fail: Fail{Share: .5}}}).Since
	wg.Wait()
	close(statuses)
	seen := map[int]int{}
	for x := range statuses {
		seen[x]++
	}
	r := s.take(clients * rounds)
	if seen[200] != r.Count(OK) || seen[503] != r.Count(Failed) || r.Count(Failed) == 0 {
		t.Errorf("clients saw %v, the server answered %d and failed %d", seen, r.Count(OK), r.Count(Failed))
	}
	for _, x := range r.Requests {
		want := time.Millisecond
		if x.Arrived >= since {
			want *= 2
		}
		if x.Due-x.Arrived != want {
			t.Errorf("%+v, want %v; the change was at %v", x, want, since)
		}
	}
}

// TestEnds: the loop ends with requests and connections open, and says so to
// who asks later.
func TestEnds(t *testing.T) {
	l, err := newLoop(Behaviour{Service: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- l.run(false) }()
	c, err := net.Dial("tcp", l.address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }() // what it says is read before
	if _, err := io.WriteString(c, get); err != nil {
		t.Fatal(err)
	}
	for n := 0; n == 0; {
		r, err := l.take()
		if err != nil {
			t.Fatal(err)
		}
		n = r.Outstanding
	}
	if err := errors.Join(l.stop(), <-ended); err != nil {
		t.Fatal(err)
	}
	if _, err := l.take(); !errors.Is(err, errEnded) {
		t.Errorf("take after the end: %v, want errEnded", err)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is open after the end")
	}
}

func TestRefusesNonsense(t *testing.T) {
	if _, err := newLoop(Behaviour{Workers: -1}); err == nil {
		t.Error("a server with workers below none")
	}
	s := startInside(t, Behaviour{})
	var r reply
	err := errors.Join(s.to.Encode(order{Set: true, New: Behaviour{Body: -1}}), s.from.Decode(&r))
	if err != nil || r.Failure == "" {
		t.Errorf("setting nonsense: %v, %q", err, r.Failure)
	}
}

// TestClock: the fast way to read the clock agrees with the slow one.
func TestClock(t *testing.T) {
	c := newClock()
	for range 100 {
		before, now, after := Now(), c.now(), Now()
		const off = 20 * time.Microsecond // half of what reading it may take on a busy machine
		if now < before-off || now > after+off {
			t.Fatalf("%v is not between %v and %v", now, before, after)
		}
	}
}

func ExampleStall() {
	s := Stall{Every: 10 * time.Second, For: time.Second}
	fmt.Println(s.after(8*time.Second, 2*time.Second))
	// Output: 11s
}
