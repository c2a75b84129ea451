package kv

import (
	"errors"
	"slices"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

func TestKeys(t *testing.T) {
	hashed, ordered := DefaultDataset(), DefaultDataset()
	ordered.Ordered = true
	for _, test := range []struct {
		set    Dataset
		record int64
		want   string
	}{
		// YCSB's first key; see also testdata/ycsb.
		{hashed, 0, "user6284781860667377211"},
		{ordered, 0, "user0000000000000000000"},
		{ordered, maxRecords, "user0000000004294967296"},
	} {
		if got := test.set.Key(test.record); got != test.want {
			t.Errorf("Key(%d) = %s, want %s", test.record, got, test.want)
		}
	}
	var keys []string
	for i := range int64(100_000) {
		keys = append(keys, ordered.Key(i*997))
	}
	if !slices.IsSorted(keys) {
		t.Error("ordered keys are not in order")
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

func TestSize(t *testing.T) {
	if got, want := DefaultDataset().Size(), int64(1_000_000); got != want {
		t.Errorf("Size = %d, want %d", got, want)
	}
}
