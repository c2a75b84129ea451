package sqlstore

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

var intCases = map[string][]int64{
	"none":     {},
	"one":      {42},
	"steady":   {1e9, 2e9, 3e9, 4e9},
	"jitter":   {1e9 + 7, 2e9 - 3, 3e9 + 11},
	"falling":  {5, 3, 1, -1},
	"overflow": {math.MinInt64, math.MaxInt64, math.MinInt64, 0, math.MaxInt64},
	"constant": slices.Repeat([]int64{7}, 1000),
	"runs":     append(slices.Repeat([]int64{7}, 257+2), append(slices.Repeat([]int64{0}, 256+2), 1, 2)...),
}

func TestIntsRoundTrip(t *testing.T) {
	for name, want := range intCases {
		got, err := decodeInts(encodeInts(want))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: decodeInts(encodeInts(%v)) = %v, %v", name, want, got, err)
		}
	}
}

func TestFloatsRoundTrip(t *testing.T) {
	cases := map[string][]float64{
		"none":         {},
		"counters":     {0, 4096, 8192, 1 << 53},
		"too large":    {1 << 53, 1<<53 + 2, 1 << 62},
		"fractions":    {0.1, 0.2, 0.30000000000000004},
		"end in zeros": {0.5, 0.25, 1.375, 0},
		"minus zero":   {math.Copysign(0, -1), 0},
		"extremes":     {math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64},
		// The store refuses them; the codec need not know.
		"not finite": {math.NaN(), math.Inf(1), math.Inf(-1)},
	}
	for name, want := range cases {
		got, err := decodeFloats(encodeFloats(want))
		if err != nil || !sameBits(got, want) {
			t.Errorf("%s: decodeFloats(encodeFloats(%v)) = %v, %v", name, want, got, err)
		}
	}
}

func sameBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}

func TestFloatsRoundTripRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 2000 {
		want := make([]float64, rng.IntN(20))
		for i := range want {
			want[i] = math.Float64frombits(rng.Uint64())
		}
		if got, err := decodeFloats(encodeFloats(want)); err != nil || !sameBits(got, want) {
			t.Fatalf("decodeFloats(encodeFloats(%v)) = %v, %v", want, got, err)
		}
	}
}

// TestSeriesSize holds the codec to what its comment promises.
func TestSeriesSize(t *testing.T) {
	c := testCodec(t)
	const points = 3600
	var offsets []int64
	var values []float64
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range points {
		offsets = append(offsets, int64(i)*1e9+rng.Int64N(200_000))
		values = append(values, float64(i)*1e6+float64(rng.IntN(2000)))
	}
	o, err := c.pack(encodeInts(offsets))
	if err != nil {
		t.Fatal(err)
	}
	v, err := c.pack(encodeFloats(values))
	if err != nil {
		t.Fatal(err)
	}
	if perPoint := float64(len(o)+len(v)) / points; perPoint > 6 {
		t.Errorf("%.1f bytes a point, want at most 6", perPoint)
	}
}

func TestSeriesDamaged(t *testing.T) {
	whole := encodeInts([]int64{1, 2, 300})
	cases := map[string][]byte{
		"nothing":      {},
		"no count":     {formDelta2},
		"unknown form": {9, 0},
		"cut":          whole[:len(whole)-1],
		"too long":     append(slices.Clone(whole), 0),
		"run too long": {formDelta2, 2, 0, 7},
		"no run":       {formDelta2, 1, 0},
		"huge run":     {formDelta2, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 255},
		"huge count":   {formXOR, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1},
	}
	for name, data := range cases {
		if got, err := decodeFloats(data); err == nil {
			t.Errorf("%s: decodeFloats(%v) = %v, want an error", name, data, got)
		}
		if got, err := decodeInts(data); err == nil {
			t.Errorf("%s: decodeInts(%v) = %v, want an error", name, data, got)
		}
	}
}

// FuzzDecodeSeries: no input makes the decoders panic or take memory without
// bound, and what they accept survives another round trip.
func FuzzDecodeSeries(f *testing.F) {
	for _, xs := range intCases {
		f.Add(encodeInts(xs))
	}
	f.Add(encodeFloats([]float64{0.1, 0.2, math.Inf(1)}))
	f.Add([]byte{formXOR, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, data []byte) {
		if xs, err := decodeInts(data); err == nil {
			if again, err := decodeInts(encodeInts(xs)); err != nil || !slices.Equal(again, xs) {
				t.Errorf("round trip of %v: %v, %v", xs, again, err)
			}
		}
		if xs, err := decodeFloats(data); err == nil {
			if len(xs) > 128*len(data) {
				t.Errorf("%d numbers from %d bytes", len(xs), len(data))
			}
			if again, err := decodeFloats(encodeFloats(xs)); err != nil || !sameBits(again, xs) {
				t.Errorf("round trip of %v: %v, %v", xs, again, err)
			}
		}
	})
}

func testCodec(t testing.TB) *codec {
	c, err := newCodec()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return c
}

func TestPack(t *testing.T) {
	c := testCodec(t)
	noise := make([]byte, 4096)
	x := uint32(1)
	for i := range noise {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	tests := []struct {
		name string
		raw  []byte
		form byte
	}{
		{"empty", nil, packRaw},
		{"short", []byte("hello"), packRaw},
		{"text", bytes.Repeat([]byte("line\n"), 1000), packZstd},
		{"incompressible", noise, packRaw},
	}
	for _, tt := range tests {
		blob, err := c.pack(tt.raw)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if blob[0] != tt.form || len(blob) > len(tt.raw)+1 {
			t.Errorf("%s: form %d in %d bytes, want form %d in at most %d", tt.name, blob[0], len(blob), tt.form, len(tt.raw)+1)
		}
		if got, err := c.unpack(blob, nil); err != nil || !bytes.Equal(got, tt.raw) {
			t.Errorf("%s: unpack(pack(x)) = %d bytes, %v, want x", tt.name, len(got), err)
		}
	}
}

// FuzzUnpack: a damaged blob is an error, never a panic.
func FuzzUnpack(f *testing.F) {
	c := testCodec(f)
	for _, raw := range [][]byte{nil, []byte("hello"), bytes.Repeat([]byte("line\n"), 100)} {
		blob, err := c.pack(raw)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(blob)
	}
	f.Add([]byte{})
	f.Add([]byte{7})
	f.Fuzz(func(t *testing.T, blob []byte) {
		raw, err := c.unpack(blob, nil)
		if err != nil {
			return
		}
		again, err := c.pack(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.unpack(again, nil); err != nil || !bytes.Equal(got, raw) {
			t.Errorf("unpack(pack(%q)) = %q, %v", raw, got, err)
		}
	})
}
