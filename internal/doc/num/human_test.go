package num

import (
	"math"
	"testing"
	"time"
)

func TestHuman(t *testing.T) {
	for _, c := range []struct {
		value float64
		unit  string
		want  string
	}{
		{1.25e9, "B/s", "1.25 GB/s"},
		{123456789, "op/s", "123.5 Mop/s"},
		{999.94, "op/s", "999.9 op/s"},
		{999.96, "op/s", "1 kop/s"},
		{999_960_000, "op/s", "1 Gop/s"},
		{3e18, "B", "3 EB"},
		{-2500, "B", "-2.5 kB"},
		{0, "B/s", "0 B/s"},
		{0.00123, "op/s", "0.00123 op/s"},
		{1234567, "index", "1235000 index"},
		{95.1234, "ns", "95.12 ns"},
		{12, "", "12"},
		{math.NaN(), "B", "-"},
		{math.Inf(1), "B", "-"},
	} {
		if got := Human(c.value, c.unit); got != c.want {
			t.Errorf("Human(%g, %q) = %q, want %q", c.value, c.unit, got, c.want)
		}
	}
}

func TestBrief(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Brief(43_649_000), "43.6 ms"}, {Brief(960 * time.Microsecond), "960 µs"}, {Brief(1_235_000), "1.24 ms"}, {Brief(0), "0 ns"},
		{Brief(90 * time.Second), "90 s"}, {Exact(150 * time.Millisecond), "150 ms"}, {Exact(1_234_567), "1.234567 ms"}, {Share(.92749), "92.7 %"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
