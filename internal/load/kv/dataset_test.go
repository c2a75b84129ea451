package kv

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

func TestKeys(t *testing.T) {
	// YCSB's first key; see also testdata/ycsb.
	if got, want := DefaultDataset().Key(0), "user6284781860667377211"; got != want {
		t.Errorf("Key(0) = %s, want %s", got, want)
	}
}

// TestKeysDiffer: no two of a million hashed keys are equal.
func TestKeysDiffer(t *testing.T) {
	hashes := make([]uint64, 1_000_000)
	for i := range hashes {
		hashes[i] = fnv(int64(i))
	}
	slices.Sort(hashes)
	if n := len(slices.Compact(hashes)); n != len(hashes) {
		t.Errorf("%d keys of %d records", n, len(hashes))
	}
}

func TestDatasetCheck(t *testing.T) {
	ok := DefaultDataset()
	if err := ok.Check(); err != nil {
		t.Errorf("Check of the default = %v", err)
	}
	for name, change := range map[string]func(*Dataset){
		"no records":   func(d *Dataset) { d.Records = 0 },
		"many records": func(d *Dataset) { d.Records = maxRecords + 1 },
		"no fields":    func(d *Dataset) { d.Fields = 0 },
		"many fields":  func(d *Dataset) { d.Fields = maxFields + 1 },
		"short fields": func(d *Dataset) { d.FieldSize = MinFieldSize - 1 },
		"long fields":  func(d *Dataset) { d.FieldSize = maxRecordSize/d.Fields + 1 },
	} {
		d := ok
		change(&d)
		if err := d.Check(); !errors.Is(err, model.ErrUsage) {
			t.Errorf("%s: Check = %v, want ErrUsage", name, err)
		}
		if d.String() == ok.String() {
			t.Errorf("%s: described as the other: %s", name, d)
		}
	}
}

// TestValues: what was written verifies, at every size, and nothing else does.
func TestValues(t *testing.T) {
	for size := MinFieldSize; size < 3*MinFieldSize; size++ {
		value, scratch := make([]byte, size), make([]byte, size)
		for _, version := range []uint64{0, 1, 63, 64, 1<<versionBits - 1} {
			fill(value, 12345, 3, version)
			if err := verify(value, 12345, 3, scratch); err != nil {
				t.Errorf("size %d, version %d: %v", size, version, err)
			}
			for i, c := range value {
				if c < '0' || c > 'o' {
					t.Errorf("size %d, version %d: byte %d is %q", size, version, i, c)
				}
			}
			testChanged(t, value, scratch)
		}
	}
}

// testChanged changes each byte, and the length.
func testChanged(t *testing.T, value, scratch []byte) {
	t.Helper()
	for i := range value {
		for _, bit := range []byte{1, 0x20, 0x80} {
			changed := bytes.Clone(value)
			changed[i] ^= bit
			if verify(changed, 12345, 3, scratch) == nil {
				t.Errorf("a change of bit %x of byte %d of %d went unnoticed", bit, i, len(value))
			}
		}
	}
	if verify(value[:len(value)-1], 12345, 3, scratch) == nil {
		t.Errorf("a byte less than %d went unnoticed", len(value))
	}
}

// TestValuesDiffer: neither records nor fields can be mistaken for each other.
func TestValuesDiffer(t *testing.T) {
	seen := map[string][2]int64{}
	value := make([]byte, MinFieldSize)
	for record := range int64(20_000) {
		for field := range int64(5) {
			fill(value, record, int(field), 0)
			if other, ok := seen[string(value)]; ok {
				t.Fatalf("record and field %d, %d are as %d", record, field, other)
			}
			seen[string(value)] = [2]int64{record, field}
		}
	}
}

// FuzzVerify: whatever a store returns is either what was written or wrong, and
// never fatal.
func FuzzVerify(f *testing.F) {
	value := make([]byte, 40)
	fill(value, 7, 1, 99)
	f.Add(value, int64(7), 1)
	f.Add([]byte("short"), int64(7), 1)
	f.Add([]byte{}, int64(-1), -1)
	f.Fuzz(func(t *testing.T, value []byte, record int64, field int) {
		scratch := make([]byte, max(len(value), MinFieldSize))
		err := verify(value, record, field, scratch)
		if err == nil && !bytes.Equal(value, scratch) {
			t.Errorf("%q verifies although it is not %q", value, scratch)
		}
	})
}

func BenchmarkVerifyRecord(b *testing.B) {
	set := DefaultDataset()
	r, scratch := set.Record(5), make([]byte, set.FieldSize)
	b.SetBytes(set.recordSize())
	for b.Loop() {
		if err := set.verify(5, r, scratch); err != nil {
			b.Fatal(err)
		}
	}
}
