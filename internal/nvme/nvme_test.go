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
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/telemetry"
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
	want := Page{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
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
		if err == nil && p[9] != binary.LittleEndian.Uint64(page[80:88]) {
			t.Errorf("word 9 is %d", p[9])
		}
	})
}

// TestRead: rates are what a volume did in each second, drawn at random. One second in which the
// volume was attached anew is left out.
func TestRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const seconds, anew = 30, 12
		r := rand.New(rand.NewPCG(27, 3))
		begin := float64(time.Now().UnixMicro()) / 1e6
		want := telemetry.Recording{Source: "nvme", Node: "db-1", Service: "nvme9n1",
			Rates:   make(map[telemetry.Measure]telemetry.Numbers),
			Remarks: []telemetry.Remark{{Code: telemetry.Reset, Count: 1, At: begin + anew}}}
		counters := [11]uint64{1 << 40, 1 << 40, 1 << 50, 1 << 50}
		second := 0
		page := func(string) ([]byte, error) {
			now := makePage(counters)
			second++
			if second == anew {
				counters = [11]uint64{}
				return now, nil
			}
			if second <= seconds {
				want.Begin, want.End = append(want.Begin, begin+float64(second-1)), append(want.End, begin+float64(second))
			}
			for i, m := range map[int]telemetry.Measure{0: telemetry.ReadOps, 1: telemetry.WriteOps,
				2: telemetry.ReadBytes, 3: telemetry.WriteBytes, 6: telemetry.ExceededOps, 7: telemetry.ExceededBytes,
				8: telemetry.NodeExceededOps, 9: telemetry.NodeExceededBytes} {
				by := r.Uint64N(1_000_000)
				rate := float64(by)
				if i >= 6 {
					rate /= 1e6
				}
				counters[i] += by
				if second <= seconds {
					want.Rates[m] = append(want.Rates[m], rate)
				}
			}
			return now, nil
		}
		got, err := Read(t.Context(), Spec{Devices: []string{"/dev/nvme9n1"}, Period: time.Second,
			For: seconds * time.Second, Node: "db-1", page: page})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]telemetry.Recording{want}, got, cmpopts.EquateApprox(1e-12, 1e-6)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestThrottledAll: clocks may see more throttled time than there was.
func TestThrottledAll(t *testing.T) {
	got := recording("vol-1", []float64{100, 101}, []Page{{}, {6: 1_000_020}})
	if diff := cmp.Diff(telemetry.Numbers{1}, got.Rates[telemetry.ExceededOps]); diff != "" {
		t.Errorf("share of throttled time (-want +got):\n%s", diff)
	}
}

func TestRefused(t *testing.T) {
	x := []string{"x"}
	for _, s := range []Spec{{Period: time.Second}, {Devices: x}, {Devices: x, Period: 1, For: -1}} {
		if _, err := Read(t.Context(), s); !errors.Is(err, model.ErrUsage) {
			t.Errorf("%+v: %v, want ErrUsage", s, err)
		}
	}
	if runtime.GOOS != "linux" {
		return
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	spec := Spec{Devices: []string{file}, Period: time.Second}
	if _, err := Read(t.Context(), spec); !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), file+": ") {
		t.Errorf("a file: %v, want ErrUsage with its name", err)
	}
	spec.Devices[0] += "s"
	if _, err := Read(t.Context(), spec); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no device: %v", err)
	}
}
