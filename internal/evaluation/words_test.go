package evaluation

import "testing"

// TestWork: one node does, several do.
func TestWork(t *testing.T) {
	for _, c := range []struct {
		nodes int
		of    Subjects
		cdi   float64
		want  string
	}{
		{4, OfNodes, 75, "4 nodes do the work of 1.0 node"},
		{1, OfNodes, 20, "1 node does the work of 0.8 nodes"},
		{1, OfPairs, 20, "1 pair does the work of 0.8 pairs"},
	} {
		if got := (Finding{Nodes: c.nodes, Of: c.of, CDI: &c.cdi}).Work(); got != c.want {
			t.Errorf("Work = %q, want %q", got, c.want)
		}
	}
}
