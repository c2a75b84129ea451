package kernel

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// collect returns what a parser emits of a text; a metric that comes twice
// fails the test.
func collect(t *testing.T, parse func([]byte, Emit), text string) map[string]float64 {
	t.Helper()
	got := map[string]float64{}
	parse([]byte(text), func(metric string, value float64) {
		if _, ok := got[metric]; ok {
			t.Errorf("%s was emitted twice", metric)
		}
		got[metric] = value
	})
	return got
}

func TestColumns(t *testing.T) {
	const text = `Ip: Forwarding ListenDrops
Ip: 1 64
TcpExt: SyncookiesSent ListenOverflows ListenDrops Odd Late
TcpExt: 0 3 5 x
IpExt: InNoRoutes
`
	got := map[string]uint64{}
	Columns([]byte(text), "TcpExt:", func(name []byte, n uint64) { got[string(name)] = n })
	want := map[string]uint64{"SyncookiesSent": 0, "ListenOverflows": 3, "ListenDrops": 5}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("Columns (-want +got):\n%s", d)
	}
}

func TestGain(t *testing.T) {
	tests := []struct {
		name            string
		last, raw, want uint64
	}{
		{"grows", 10, 17, 7},
		{"stays", 10, 10, 0},
		{"passes 2^32", 1<<32 - 5, 7, 12},
		{"reset", 5_000_000, 100, 100},
		{"64 bits, reset", 1 << 40, 3, 3},
		{"to the end", 0, 1<<64 - 1, 1<<64 - 1},
	}
	for _, tt := range tests {
		if got := gain(tt.last, tt.raw); got != tt.want {
			t.Errorf("%s: gain(%d, %d) = %d, want %d", tt.name, tt.last, tt.raw, got, tt.want)
		}
	}
}

func TestParseUint(t *testing.T) {
	tests := []struct {
		text string
		want uint64
		ok   bool
	}{
		{"0", 0, true}, {"18446744073709551615", 1<<64 - 1, true}, {"18446744073709551616", 0, false},
		{"99999999999999999999", 0, false}, {"", 0, false}, {"-1", 0, false}, {"1x", 0, false}, {"1.5", 0, false},
	}
	for _, tt := range tests {
		got, ok := ParseUint([]byte(tt.text))
		if ok != tt.ok || (ok && got != tt.want) {
			t.Errorf("ParseUint(%q) = %d, %v, want %d, %v", tt.text, got, ok, tt.want, tt.ok)
		}
	}
}
