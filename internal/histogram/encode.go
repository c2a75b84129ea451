package histogram

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"math"
	"sync"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// The cookies of the V2 format (HdrHistogram's specification of its
// serialization): counts of variable length, and the same compressed.
const (
	cookie           = uint32(hdr.V2EncodingCookieBase) | 0x10
	cookieCompressed = uint32(hdr.V2CompressedEncodingCookieBase) | 0x10
)

// packer has the memory that compressing takes, which is more than a megabyte.
type packer struct {
	zip  *zlib.Writer
	into bytes.Buffer
	raw  []byte
}

var packers = sync.Pool{New: func() any {
	zip, _ := zlib.NewWriterLevel(nil, zlib.BestSpeed) // there is this level
	return &packer{zip: zip}
}}

// Encode returns h in the V2 compressed form in base64, which every
// HdrHistogram library reads. It is what hdr.Histogram.Encode returns, for a
// third of its time: a load generator does it once a second on the processor
// from which it sends, and is late meanwhile.
func Encode(h *hdr.Histogram) string {
	p := packers.Get().(*packer)
	defer packers.Put(p)
	p.raw = appendHistogram(p.raw[:0], h)
	p.into.Reset()
	p.zip.Reset(&p.into)
	_, _ = p.zip.Write(p.raw) // memory takes it
	_ = p.zip.Close()
	out := binary.BigEndian.AppendUint32(nil, cookieCompressed)
	out = binary.BigEndian.AppendUint32(out, uint32(p.into.Len()))
	return base64.StdEncoding.EncodeToString(append(out, p.into.Bytes()...))
}

// appendHistogram appends the header of 40 bytes and the counts up to the last
// that is not 0: each as a varint, and a run of n > 1 zeros as -n.
func appendHistogram(b []byte, h *hdr.Histogram) []byte {
	begin := len(b)
	b = binary.BigEndian.AppendUint32(b, cookie)
	b = binary.BigEndian.AppendUint32(b, 0) // length of the counts, known below
	b = binary.BigEndian.AppendUint32(b, 0) // offset of the first count
	b = binary.BigEndian.AppendUint32(b, uint32(h.SignificantFigures()))
	b = binary.BigEndian.AppendUint64(b, uint64(h.LowestTrackableValue()))
	b = binary.BigEndian.AppendUint64(b, uint64(h.HighestTrackableValue()))
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(1)) // integers stand for themselves
	header := len(b)
	counts := h.Export().Counts
	last := len(counts) - 1
	for last > 0 && counts[last] == 0 {
		last--
	}
	for i := 0; i <= last; {
		zeros := 0
		for i+zeros <= last && counts[i+zeros] == 0 {
			zeros++
		}
		if zeros > 1 {
			b = binary.AppendVarint(b, int64(-zeros))
			i += zeros
			continue
		}
		b = binary.AppendVarint(b, counts[i])
		i++
	}
	binary.BigEndian.PutUint32(b[begin+4:], uint32(len(b)-header))
	return b
}
