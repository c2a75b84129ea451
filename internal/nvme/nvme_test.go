package nvme

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

// makePage writes a page byte by byte: magic, version, and eleven counters from byte 8 on. All
// that follows is noise.
func makePage(counters [11]uint64) []byte {
	page := make([]byte, 4096)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range page {
		page[i] = byte(r.Uint32())
	}
	binary.LittleEndian.PutUint32(page[0:], 0x3C23B510)
	binary.LittleEndian.PutUint32(page[4:], 1)
	for i, c := range counters {
		binary.LittleEndian.PutUint64(page[8+8*i:], c)
	}
	return page
}

func TestDecode(t *testing.T) {
	got, err := Decode(makePage([11]uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1<<64 - 1}))
	want := Counters{1, 2, 3, 4, 5, 6, [4]uint64{7, 8, 9, 10}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	store := makePage([11]uint64{})
	binary.LittleEndian.PutUint32(store, 0xEC2C0D7E) // a disk of the instance itself
	if _, err := Decode(store); !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), "not an EBS device") {
		t.Errorf("another device: %v", err)
	}
	for _, size := range []int{0, 95, 4095, 4097} {
		if _, err := Decode(make([]byte, size)); err == nil || !strings.Contains(err.Error(), "instead of 4096") {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// FuzzDecode: a page is read if and only if it has the size and the magic, and then its counters
// are where they belong.
func FuzzDecode(f *testing.F) {
	f.Add(makePage([11]uint64{1, 2, 3}))
	f.Add([]byte{0x10, 0xB5, 0x23, 0x3C})
	f.Fuzz(func(t *testing.T, page []byte) {
		p, err := Decode(page)
		if sound := len(page) == 4096 && string(page[:4]) == "\x10\xB5\x23\x3C"; sound != (err == nil) {
			t.Fatalf("sound is %v, but: %v", sound, err)
		}
		if err == nil && p.Exceeded[3] != binary.LittleEndian.Uint64(page[80:88]) {
			t.Errorf("word 9 is %d", p.Exceeded[3])
		}
	})
}

func TestIs(t *testing.T) {
	sys := t.TempDir()
	for name, c := range map[string]struct {
		serial string
		is     bool
	}{"nvme1n1": {"vol0123456789abcdef0\n", true}, "nvme0n1": {"AWS22333B5FDAB8E0D4A\n", false}, "sda": {"vol1", false},
		"nvme2n1": {"", false}} {
		dir := filepath.Join(sys, "block", name, "device")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "serial"), []byte(c.serial), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := Is(sys, name); got != c.is {
			t.Errorf("Is(%s) = %v, want %v", name, got, c.is)
		}
	}
	if Is(sys, "nvme9n1") {
		t.Error("a device that is not there is a volume")
	}
}

func TestRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(file); !errors.Is(err, model.ErrUsage) {
		t.Errorf("a file: %v, want ErrUsage", err)
	}
	if _, err := Read(file + "s"); runtime.GOOS == "linux" && !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no device: %v", err)
	}
}
