package sqlstore

import (
	"bytes"
	"testing"
)

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
		if got, err := c.unpack(blob); err != nil || !bytes.Equal(got, tt.raw) {
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
		raw, err := c.unpack(blob)
		if err != nil {
			return
		}
		again, err := c.pack(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.unpack(again); err != nil || !bytes.Equal(got, raw) {
			t.Errorf("unpack(pack(%q)) = %q, %v", raw, got, err)
		}
	})
}
