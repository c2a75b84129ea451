package network

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/workloadtest"
)

// throughEcho returns a relay's way down: transfers pass, the connection of
// echoes is given to one, behind its header.
func throughEcho(one func(from, to net.Conn)) func(int64, net.Conn, net.Conn) {
	return func(_ int64, from, to net.Conn) {
		header := make([]byte, 400)
		n := 0
		for !bytes.Contains(header[:n], []byte("\r\n\r\n")) {
			k, err := from.Read(header[n:])
			if err != nil {
				return
			}
			n += k
		}
		if _, err := to.Write(header[:n]); err != nil {
			return
		}
		if bytes.Contains(header[:n], []byte("Content-Length: 0\r\n")) {
			one(from, to)
			return
		}
		_, _ = io.Copy(to, from)
	}
}

// rtts measures through a relay, and returns what was recorded and the histogram.
func rtts(t *testing.T, one func(from, to net.Conn)) (*workloadtest.Record, *hdrhistogram.Histogram) {
	t.Helper()
	h := hosts("a", "b")
	via := newRelay(t, h[1], throughEcho(one))
	a := newNode(t, h[0], "", []model.Host{via}, nil, direct(Receive))
	mustRun(t, a, newNode(t, h[1], model.RoleServe, nil, h[:1], direct(Receive)))
	histogram, err := hdrhistogram.Decode([]byte(a.record.Histograms[0].Encoded))
	if err != nil {
		t.Fatal(err)
	}
	return a.record, histogram
}

// TestRoundTripTime adds a known delay to the way back.
func TestRoundTripTime(t *testing.T) {
	const delay = 40 * time.Millisecond
	record, _ := rtts(t, func(from, to net.Conn) {
		var b [1]byte
		for {
			if _, err := from.Read(b[:]); err != nil {
				return
			}
			<-time.After(delay)
			if _, err := to.Write(b[:]); err != nil {
				return
			}
		}
	})
	// While idle, echoes come every 20 ms, and queue behind each other here.
	for _, m := range []string{"rtt_p50", "rtt_idle_p50"} {
		if got := record.Find(m).Value; got < 40_000 || got > 400_000 {
			t.Errorf("%s = %v us behind a delay of 40 ms, want that and little more", m, got)
		}
	}
}

// TestLostEchoes keeps echoes for ever, while transfers go on: they count with
// the time that they have been waited for, and more than one of them.
func TestLostEchoes(t *testing.T) {
	_, histogram := rtts(t, func(from, to net.Conn) {
		_, _ = io.Copy(io.Discard, from)
		_ = to
	})
	if got := histogram.Max(); got < 400_000 {
		t.Errorf("the longest of echoes that never return is %d us, want most of the 600 ms scored", got)
	}
	if got := histogram.TotalCount(); got < 4 {
		t.Errorf("%d echoes, want one for each 100 ms", got)
	}
}
