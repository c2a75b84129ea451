package kv

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// TestPresets: the mixes are those of the paper's Table I and of YCSB's files.
func TestPresets(t *testing.T) {
	for name, want := range map[string]struct {
		mix          []load.Weight
		distribution Distribution
	}{
		"W1":  {[]load.Weight{{Name: "update", Weight: 100}}, Uniform},
		"W2":  {[]load.Weight{{Name: "read", Weight: 100}}, Zipfian},
		"W3":  {[]load.Weight{{Name: "read", Weight: 95}, {Name: "update", Weight: 5}}, Zipfian},
		"w3b": {[]load.Weight{{Name: "read", Weight: 50}, {Name: "update", Weight: 50}}, Zipfian},
		"a":   {[]load.Weight{{Name: "read", Weight: 50}, {Name: "update", Weight: 50}}, Zipfian},
		"b":   {[]load.Weight{{Name: "read", Weight: 95}, {Name: "update", Weight: 5}}, Zipfian},
		"c":   {[]load.Weight{{Name: "read", Weight: 100}}, Zipfian},
		"d":   {[]load.Weight{{Name: "read", Weight: 95}, {Name: "insert", Weight: 5}}, Latest},
		"f":   {[]load.Weight{{Name: "read", Weight: 50}, {Name: "read-modify-write", Weight: 50}}, Zipfian},
	} {
		w, err := Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		_, mix := w.mix()
		if diff := cmp.Diff(want.mix, mix); diff != "" || w.Distribution != want.distribution {
			t.Errorf("%s: %s, %s", name, w.Distribution, diff)
		}
		if err := w.Check(); err != nil || w.About == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Preset("e"); !errors.Is(err, model.ErrUsage) {
		t.Errorf("Preset(e) = %v, want ErrUsage", err)
	}
}

func TestWorkloadCheck(t *testing.T) {
	for name, w := range map[string]Workload{
		"nothing":      {Distribution: Uniform},
		"negative":     {Read: 1, Update: -1, Distribution: Uniform},
		"no number":    {Read: math.NaN(), Distribution: Uniform},
		"infinite":     {Insert: math.Inf(1), Distribution: Uniform},
		"distribution": {Read: 1},
	} {
		if err := w.Check(); !errors.Is(err, model.ErrUsage) {
			t.Errorf("%s: Check = %v, want ErrUsage", name, err)
		}
	}
}
