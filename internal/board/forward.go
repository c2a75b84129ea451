package board

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"sync/atomic"
	"time"
)

// forwarder forwards requests to upstreams.
type forwarder struct {
	upstreams  []*upstream
	roundRobin bool
	turn       atomic.Uint64
}

// answer asks one upstream, and another one where that does not accept a
// connection. What it has sent and got no answer for is not sent again: it may
// have been done.
func (f *forwarder) answer(w http.ResponseWriter, r *http.Request, p *page) {
	message, err := requestOf(w, r)
	if err != nil {
		p.show(formFault(err))
		return
	}
	for range f.upstreams {
		u := f.choose(time.Now())
		if err = u.ask(r.Context(), message, r.Method, p); !errors.Is(err, errRefused) {
			break
		}
	}
	switch {
	case err == nil:
	case r.Context().Err() != nil:
		p.show(&fault{http.StatusServiceUnavailable, "the user has gone"})
	case errors.Is(err, errRefused):
		p.show(&fault{http.StatusServiceUnavailable, err.Error()})
	default:
		p.show(&fault{http.StatusBadGateway, err.Error()})
	}
}

// requestOf is the request as the next tier gets it.
func requestOf(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: board\r\n", r.Method, r.URL.RequestURI())
	if r.Body == nil || r.ContentLength == 0 && len(r.TransferEncoding) == 0 {
		b.WriteString("\r\n")
		return b.Bytes(), nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxForm))
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&b, "Content-Type: %s\r\nContent-Length: %d\r\n\r\n", r.Header.Get("Content-Type"), len(body))
	b.Write(body)
	return b.Bytes(), nil
}

// choose returns the upstream that is next, or has the fewest requests; of equals
// each in its turn. One that is down is left out, unless all are.
func (f *forwarder) choose(now time.Time) *upstream {
	return leastLoaded(f.upstreams, f.turn.Add(1), func(u *upstream) int64 {
		switch {
		case u.down(now):
			return math.MaxInt64
		case f.roundRobin:
			return 0
		}
		return u.outstanding.Load()
	})
}

// healthTime bounds how long another tier may take to say that it is well.
const healthTime = 2 * time.Second

// health is nil where an upstream is well.
func (f *forwarder) health(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	var failed error
	for _, u := range f.upstreams {
		p := &page{}
		p.reset()
		err := u.ask(ctx, []byte("GET "+HealthPath+" HTTP/1.1\r\nHost: board\r\n\r\n"), http.MethodGet, p)
		if err == nil && p.status == http.StatusOK {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("%s is not well: %s", u.address, bytes.TrimSpace(p.body))
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

func (f *forwarder) status() []UpstreamStatus {
	all := make([]UpstreamStatus, len(f.upstreams))
	for i, u := range f.upstreams {
		all[i] = UpstreamStatus{Address: u.address, Outstanding: u.outstanding.Load(), Requests: u.requests.Load(),
			Errors: u.errors.Load(), Down: u.down(time.Now())}
	}
	return all
}
