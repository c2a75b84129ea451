package objectstore

import (
	"bytes"
	"compress/flate"
	"errors"
	"io"
	"testing"
)

// contentOf reads an object as it is sent.
func contentOf(t *testing.T, bl block, o *object, size int64) []byte {
	t.Helper()
	moved := 0
	data, err := io.ReadAll(&body{block: bl, header: &o.header, size: size, moved: func(n int) { moved += n }})
	if err != nil || int64(len(data)) != size || moved != len(data) {
		t.Fatalf("body of %d bytes: read %d, counted %d, %v", size, len(data), moved, err)
	}
	return data
}

// TestObjectsDiffer reads the stored files: no two may be equal, and none may
// be compressible.
func TestObjectsDiffer(t *testing.T) {
	a, c := newObject("d/", UUIDKeys, 0), newObject("d/", UUIDKeys, 1)
	bl := newBlock(1 << 20)
	one, two := contentOf(t, bl, a, 100_000), contentOf(t, bl, c, 100_000)
	for i := 0; i+4096 <= len(one); i += 4096 {
		if bytes.Contains(two, one[i:i+4096]) && i%4096 == bytes.Index(two, one[i:i+4096])%4096 {
			t.Errorf("the block at %d is in both objects at a distance that a store would find", i)
		}
	}
}

func TestIncompressible(t *testing.T) {
	data := contentOf(t, newBlock(0), newObject("d/", UUIDKeys, 0), 3<<20)[:minBlock]
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if packed.Len() < len(data) {
		t.Errorf("%d bytes became %d by compression", len(data), packed.Len())
	}
}

// FuzzChecker checks that the checker accepts the object as it was sent, in
// whatever pieces it comes, and nothing else.
func FuzzChecker(f *testing.F) {
	f.Add(uint32(100), uint16(7), uint32(50), byte(1))
	f.Add(uint32(16), uint16(1), uint32(0), byte(255))
	f.Add(uint32(1<<20+30), uint16(40000), uint32(1<<20), byte(0))
	bl := newBlock(0)
	f.Fuzz(func(t *testing.T, size uint32, step uint16, at uint32, flip byte) {
		size = headerSize + size%(3*minBlock)
		o := newObject("d/", UUIDKeys, 0)
		data := contentOf(t, bl, o, int64(size))
		data[at%size] ^= flip
		err := feedChecker(&checker{block: bl, header: &o.header, size: int64(size), compare: true}, data, int(step)+1)
		if (flip == 0) != (err == nil) || err != nil && !errors.Is(err, errCorrupt) {
			t.Errorf("object of %d bytes with byte %d changed by %d: %v", size, at%size, flip, err)
		}
		if err := feedChecker(&checker{block: bl, header: &o.header, size: int64(size)}, data[:size-1], 4096); !errors.Is(err, errCorrupt) {
			t.Errorf("an object that is too short: %v", err)
		}
		if err := feedChecker(&checker{block: bl, header: &o.header, size: int64(size)}, append(data, 0), 4096); !errors.Is(err, errCorrupt) {
			t.Errorf("an object that is too long: %v", err)
		}
	})
}

func feedChecker(c *checker, data []byte, step int) error {
	for len(data) > 0 {
		n := min(step, len(data))
		if err := c.take(data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return c.end()
}

func BenchmarkBody(b *testing.B) {
	bl, o, buf := newBlock(maxBlock), newObject("d/", UUIDKeys, 0), make([]byte, 32<<10)
	r := &body{block: bl, header: &o.header, size: 1 << 62, moved: func(int) {}}
	b.SetBytes(int64(len(buf)))
	for b.Loop() {
		_, _ = r.Read(buf) // never fails before its end
	}
}

func BenchmarkChecker(b *testing.B) {
	bl, o, buf := newBlock(maxBlock), newObject("d/", UUIDKeys, 0), make([]byte, 256<<10)
	r := &body{block: bl, header: &o.header, size: 1 << 40, moved: func(int) {}}
	_, _ = r.Read(buf) // never fails before its end
	b.SetBytes(int64(len(buf)))
	for b.Loop() {
		c := &checker{block: bl, header: &o.header, size: 1 << 40, compare: true}
		if err := c.take(buf); err != nil {
			b.Fatal(err)
		}
	}
}
