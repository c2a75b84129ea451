package histogram_test

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/histogram"
)

func of(highest int64, values ...int64) *hdr.Histogram {
	h := histogram.New(highest)
	for _, v := range values {
		histogram.Record(h, v)
	}
	return h
}

func TestRoundTrip(t *testing.T) {
	h, err := histogram.Decode(histogram.Encode(of(1e9, 1, 1000, 123_456)))
	if err != nil || h.TotalCount() != 3 || h.Min() != 1 || !h.ValuesAreEquivalent(h.Max(), 123_456) {
		t.Errorf("%v %v", h, err)
	}
	if _, err := histogram.Decode("no"); err == nil {
		t.Error("nonsense was decoded")
	}
}

// TestEncode: the library reads what Encode writes, and so does every other that
// reads the library's.
func TestEncode(t *testing.T) {
	const tenMinutes = int64(600e9)
	rng := rand.New(rand.NewPCG(1, 1))
	many := hdr.New(64, tenMinutes, histogram.Digits)
	for range 100_000 {
		histogram.RecordMany(many, int64(math.Exp(27*rng.Float64())), rng.Int64N(1e6))
	}
	for name, h := range map[string]*hdr.Histogram{
		"empty": of(1e9), "one value": of(1e9, 77), "the smallest": of(1e9, 0), "the largest": of(1e9, 1e9), "many": many,
		"coarse": hdr.New(1000, tenMinutes, 1),
	} {
		got, err := hdr.Decode([]byte(histogram.Encode(h)))
		if err != nil || !got.Equals(h) {
			t.Errorf("%s: %v, or not the same histogram", name, err)
		}
		theirs, err := h.Encode(hdr.V2CompressedEncodingCookieBase)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := unpacked(t, histogram.Encode(h)), unpacked(t, string(theirs)); !bytes.Equal(a, b) {
			t.Errorf("%s: %d bytes, the library has others, %d", name, len(a), len(b))
		}
	}
}

// unpacked is what a packed histogram holds besides its packing.
func unpacked(t *testing.T, encoded string) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(b) < 8 || int(binary.BigEndian.Uint32(b[4:])) != len(b)-8 {
		t.Fatalf("%d bytes, %v; want 8 and as many as they say", len(b), err)
	}
	r, err := zlib.NewReader(bytes.NewReader(b[8:]))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return append(b[:4:4], raw...)
}

// BenchmarkEncode: a second of 10,000 latencies, as the library packs it and as
// we do.
func BenchmarkEncode(b *testing.B) {
	h := hdr.New(64, int64(600e9), histogram.Digits)
	for range 10_000 {
		histogram.Record(h, int64(40e3*(1+rand.ExpFloat64())))
	}
	size := 0
	b.Run("library", func(b *testing.B) {
		for b.Loop() {
			x, err := h.Encode(hdr.V2CompressedEncodingCookieBase)
			if err != nil {
				b.Fatal(err)
			}
			size = len(x)
		}
		b.ReportMetric(float64(size), "bytes")
	})
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			size = len(histogram.Encode(h))
		}
		b.ReportMetric(float64(size), "bytes")
	})
}

// TestRecordClamps: no value is lost, however long it took.
func TestRecordClamps(t *testing.T) {
	h := of(1000, -5, 0, 999_999_999)
	if h.TotalCount() != 3 || h.Min() != 0 || !h.ValuesAreEquivalent(h.Max(), 1000) {
		t.Errorf("count %d, min %d, max %d", h.TotalCount(), h.Min(), h.Max())
	}
}

// TestMerge: the sum is what one histogram of all values would be, whatever
// the ranges of the parts are and in either order.
func TestMerge(t *testing.T) {
	small, large := []int64{1, 5, 999}, []int64{7, 500_000, 999_999}
	want := of(1_000_000, append(append([]int64{}, small...), large...)...)
	for name, parts := range map[string][2]*hdr.Histogram{
		"small first": {of(1000, small...), of(1_000_000, large...)},
		"large first": {of(1_000_000, large...), of(1000, small...)},
		"nothing":     {nil, want},
		"and nothing": {want, nil},
	} {
		sum, err := histogram.Merge(parts[0], parts[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []float64{0, 10, 50, 90, 100} {
			if got := sum.ValueAtPercentile(p); got != want.ValueAtPercentile(p) {
				t.Errorf("%s: p%v = %d, want %d", name, p, got, want.ValueAtPercentile(p))
			}
		}
		if sum.TotalCount() != want.TotalCount() {
			t.Errorf("%s: %d values, want %d", name, sum.TotalCount(), want.TotalCount())
		}
	}
}

// FuzzDecode: any bytes that a store holds instead of histograms are merged or
// refused, never fatal.
func FuzzDecode(f *testing.F) {
	good := histogram.Encode(of(1e6, 50, 300))
	f.Add(good, good)
	f.Add(good, "")
	f.Add("HISTFAAA", good[:20])
	f.Fuzz(func(t *testing.T, a, b string) {
		x, errX := histogram.Decode(a)
		y, errY := histogram.Decode(b)
		sum, err := histogram.Merge(x, y)
		if errX == nil && errY == nil && err == nil && (sum == nil || sum.TotalCount() < 0) {
			t.Errorf("%q and %q: neither merged nor refused", a, b)
		}
	})
}

// TestTrim: less room, and the same values; what comes later still finds room
// by merging.
func TestTrim(t *testing.T) {
	const hour = int64(3600e9)
	for _, values := range [][]int64{{5}, {1, 40_000, 2_345_678}, {hour}, {0, 999}, nil} {
		whole := of(hour, values...)
		small := histogram.Trim(whole)
		if small.ByteSize() > whole.ByteSize() || len(values) > 1 && small.ByteSize() > whole.ByteSize()/2 {
			t.Errorf("%v: %d bytes of %d", values, small.ByteSize(), whole.ByteSize())
		}
		if small.TotalCount() != whole.TotalCount() || small.Max() != whole.Max() || small.Min() != whole.Min() {
			t.Errorf("%v became %d values from %d to %d", values, small.TotalCount(), small.Min(), small.Max())
		}
		for _, q := range []float64{1, 50, 90, 99.9, 100} {
			if a, b := small.ValueAtPercentile(q), whole.ValueAtPercentile(q); a != b {
				t.Errorf("%v: p%v = %d, want %d", values, q, a, b)
			}
		}
		want := whole.TotalCount() + 1
		sum, err := histogram.Merge(small, of(hour, hour/2))
		if err != nil || sum.TotalCount() != want {
			t.Errorf("%v: merged with a longer one: %v", values, err)
		}
	}
	if histogram.Trim(nil) != nil {
		t.Error("nothing became something")
	}
}
