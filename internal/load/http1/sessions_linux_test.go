package http1

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// readers are sessions of users who ask for pages by their number and read them.
type readers struct {
	think  time.Duration
	agenda load.Agenda
	asked  int
	// judge says what is wrong with an answer.
	judge func(load.Answer) error

	ended, good int
	twice       bool // a user was told of more than it asked for
	busy        []bool
}

func newReaders(users int, think time.Duration, judge func(load.Answer) error) *readers {
	r := &readers{think: think, judge: judge, busy: make([]bool, users)}
	for i := range users {
		r.agenda.Push(load.Appointment{At: time.Duration(i) * think / time.Duration(users), User: i})
	}
	return r
}

func (r *readers) Peek() (time.Duration, bool) {
	if len(r.agenda) == 0 {
		return 0, false
	}
	return r.agenda[0].At, true
}

func (r *readers) Take() load.Turn {
	u := r.agenda.Pop().User
	r.busy[u] = true
	r.asked++
	return load.Turn{User: u, Wire: fmt.Appendf(nil, "GET /%d HTTP/1.1\r\nHost: x\r\n\r\n", r.asked)}
}

func (r *readers) Ended(user int, a load.Answer) error {
	r.twice = r.twice || !r.busy[user]
	r.busy[user] = false
	r.ended++
	r.agenda.Push(load.Appointment{At: a.Now + r.think, User: user})
	if !a.OK {
		return nil
	}
	r.good++
	return r.judge(a)
}

// visit lets readers visit a server for a while.
func visit(t *testing.T, url string, r *readers, c Config, lasts time.Duration) result {
	t.Helper()
	c.Requests, c.Loops = get(url), 1
	c.Sessions = func(load.Share) load.Sessions { return r }
	if c.Own {
		c.Connections = len(r.busy)
	}
	d := open(t, c)
	plan := load.Plan{Closed: &load.Closed{Users: len(r.busy), Duration: lasts}}
	got := run(t.Context(), t, d, load.Run{Plan: plan})
	if got.Due != got.Settled() {
		t.Errorf("%d were due, %d have an end: %+v", got.Due, got.Settled(), got.Counts)
	}
	if int64(r.asked) != got.Due || r.twice {
		t.Errorf("%d were asked for, %d were due; told twice: %v", r.asked, got.Due, r.twice)
	}
	if told := got.Due - got.Unfinished; int64(r.ended) > told || int64(r.ended) < told-got.Dropped {
		t.Errorf("users were told of %d ends: %+v", r.ended, got.Counts)
	}
	return got
}

// page is what the server says of a number: from some bytes to some hundred kB.
func page(n string) []byte { return bytes.Repeat([]byte(n+" "), 1+len(n)*len(n)*2000) }

// TestSessionsRead: users read what the server has sent, whatever its length is
// told by.
func TestSessionsRead(t *testing.T) {
	for name, write := range map[string]func(*net.TCPConn, []byte) bool{
		"a length": func(c *net.TCPConn, b []byte) bool {
			return say(c, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(b), b))
		},
		"chunks": func(c *net.TCPConn, b []byte) bool {
			ok := say(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
			for len(b) > 0 && ok {
				n := min(len(b), 1000)
				ok, b = say(c, fmt.Sprintf("%x\r\n%s\r\n", n, b[:n])), b[n:]
			}
			return ok && say(c, "0\r\n\r\n")
		},
		"the end": func(c *net.TCPConn, b []byte) bool {
			say(c, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"+string(b))
			return false
		},
	} {
		s := serve(t, answer(func(_ *server, c *net.TCPConn, q *http.Request) bool { return write(c, page(q.URL.Path[1:])) }))
		r := newReaders(8, 20*time.Millisecond, func(a load.Answer) error {
			number, _, _ := strings.Cut(string(a.Page), " ")
			if a.Incomplete || !bytes.Equal(a.Page, page(number)) {
				return fmt.Errorf("a page of %d bytes, incomplete: %v", len(a.Page), a.Incomplete)
			}
			return nil
		})
		got := visit(t, s.url, r, Config{Own: true}, 500*time.Millisecond)
		if got.OK < 50 || got.Failed() > 0 {
			t.Errorf("%s: %+v, for example %v", name, got.Counts, got.usage.Examples)
		}
	}
}

// TestSessionsJudge: what a user says is wrong counts as that, and as nothing
// else.
func TestSessionsJudge(t *testing.T) {
	s := serve(t, always(okAnswer))
	n := 0
	r := newReaders(4, 10*time.Millisecond, func(load.Answer) error {
		if n++; n%2 == 0 {
			return errors.New("not the page expected")
		}
		return nil
	})
	got := visit(t, s.url, r, Config{Own: true}, 300*time.Millisecond)
	if wrong := got.Errors[load.ErrWrong]; wrong < 20 || got.Failed() != wrong || got.OK < wrong || got.OK > wrong+1 {
		t.Errorf("%+v, want half of them wrong", got.Counts)
	}
}

// TestSessionsOwn: each user has one connection, which stays open, and is opened
// again after the server has closed it: between two requests, or with an answer.
func TestSessionsOwn(t *testing.T) {
	const users = 20
	quiet := func(load.Answer) error { return nil }
	s := serve(t, always(okAnswer))
	r := newReaders(users, 20*time.Millisecond, quiet)
	if got := visit(t, s.url, r, Config{Own: true}, 400*time.Millisecond); got.OK < 10*users || s.accepted.Load() != users {
		t.Errorf("%d connections of %d users, %+v", s.accepted.Load(), users, got.Counts)
	}
	for name, last := range map[string]string{
		"announced": "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
		"silent":    okAnswer,
	} {
		s := serve(t, once(last))
		r := newReaders(users, 20*time.Millisecond, quiet)
		got := visit(t, s.url, r, Config{Own: true}, 400*time.Millisecond)
		if got.OK < 10*users || got.Failed() > 0 || got.usage.Opened < got.OK {
			t.Errorf("%s: %d connections, %+v, for example %v", name, got.usage.Opened, got.Counts, got.usage.Examples)
		}
	}
}

// TestSessionsShared: users who share connections wait for them, and what waits
// for too long is dropped.
func TestSessionsShared(t *testing.T) {
	var mu sync.Mutex
	open, most := 0, 0
	s := serve(t, func(s *server, c *net.TCPConn) {
		mu.Lock()
		open++
		most = max(most, open)
		mu.Unlock()
		after(10*time.Millisecond)(s, c)
		mu.Lock()
		open--
		mu.Unlock()
	})
	r := newReaders(20, time.Millisecond, func(load.Answer) error { return nil })
	got := visit(t, s.url, r, Config{Connections: 2}, 400*time.Millisecond)
	if most != 2 || got.Waited < got.OK/2 || got.OK < 20 {
		t.Errorf("%d connections at once, %+v; want 2, and most to wait", most, got.Counts)
	}
	s = serve(t, never())
	r = newReaders(20, time.Millisecond, func(load.Answer) error { return nil })
	got = visit(t, s.url, r, Config{Connections: 2, Timeout: 100 * time.Millisecond}, 400*time.Millisecond)
	if got.Dropped < 10 || got.Errors[load.ErrTimeout] < 2 || got.OK > 0 {
		t.Errorf("without answers: %+v", got.Counts)
	}
}

// TestSessionsBounded: of a page that is too long a part is kept, and of one
// without an end nothing counts.
func TestSessionsBounded(t *testing.T) {
	t.Parallel()
	const size = 3 << 20
	s := serve(t, always(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", size, strings.Repeat("x", size))))
	longest, incomplete := 0, 0
	r := newReaders(2, 50*time.Millisecond, func(a load.Answer) error {
		if longest = max(longest, len(a.Page)); a.Incomplete {
			incomplete++
		}
		return nil
	})
	got := visit(t, s.url, r, Config{Own: true}, 400*time.Millisecond)
	if got.OK == 0 || longest != mostOfPage || int64(incomplete) != got.OK {
		t.Errorf("%+v; the longest page has %d bytes, %d are incomplete", got.Counts, longest, incomplete)
	}
	s = serve(t, endless("HTTP/1.1 200 OK\r\n\r\n", strings.Repeat("x", 1<<16)))
	r = newReaders(2, 50*time.Millisecond, func(load.Answer) error { return nil })
	got = visit(t, s.url, r, Config{Own: true, MaxBody: 4 << 20}, 400*time.Millisecond)
	if got.OK > 0 || got.Errors[load.ErrProtocol] == 0 {
		t.Errorf("pages without an end: %+v", got.Counts)
	}
}

// TestSessionsTimeout: who gets no answer in time goes on, over another
// connection.
func TestSessionsTimeout(t *testing.T) {
	t.Parallel()
	s := serve(t, func(_ *server, c *net.TCPConn) { _, _ = io.Copy(io.Discard, c) })
	r := newReaders(3, 10*time.Millisecond, func(load.Answer) error { return nil })
	got := visit(t, s.url, r, Config{Own: true, Timeout: 50 * time.Millisecond}, 400*time.Millisecond)
	if n := got.Errors[load.ErrTimeout]; n < 9 || got.usage.Opened < n {
		t.Errorf("%d connections, %+v", got.usage.Opened, got.Counts)
	}
}

func TestSessionsRefused(t *testing.T) {
	sessions := func(load.Share) load.Sessions { return newReaders(1, 0, nil) }
	for name, c := range map[string]Config{
		"two origins": {Requests: []load.Request{{Name: "a", URL: "http://127.0.0.1:1", Weight: 1}, {Name: "b", URL: "http://127.0.0.1:2", Weight: 1}},
			Sessions: sessions},
	} {
		if d, err := New(t.Context(), c); !errors.Is(err, model.ErrUsage) {
			t.Errorf("%s: %v", name, err)
			if d != nil {
				_ = d.Close()
			}
		}
	}
}
