package local

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/fleet/agentproc"
	"github.com/scalebench/scalebench/internal/model"
)

func TestNodes(t *testing.T) {
	labels := map[string]string{"fleet": "local"}
	want := []model.Node{{ID: "local-1", Labels: labels}, {ID: "local-2", Labels: labels}}
	if diff := cmp.Diff(want, New(2, agentproc.Config{}).Nodes()); diff != "" {
		t.Errorf("Nodes() (-want +got):\n%s", diff)
	}
}
