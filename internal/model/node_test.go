package model_test

import (
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

func TestHas(t *testing.T) {
	wanted := map[string]string{"role": "worker", "zone": ""}
	for _, c := range []struct {
		labels map[string]string
		want   bool
	}{
		{map[string]string{"role": "worker", "zone": "", "x": "y"}, true},
		{map[string]string{"role": "worker"}, false},
		{map[string]string{"role": "master", "zone": ""}, false},
		{nil, false},
	} {
		if got := (model.Node{Labels: c.labels}).Has(wanted); got != c.want {
			t.Errorf("a node with %v has %v: %v, want %v", c.labels, wanted, got, c.want)
		}
	}
	if !(model.Node{}).Has(nil) {
		t.Error("every node has no labels at all")
	}
}
