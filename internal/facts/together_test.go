package facts

import (
	"runtime"
	"testing"
)

// TestTogether: a core keeps a part of its speed, also on a machine with other
// work, whose threads share the cores.
func TestTogether(t *testing.T) {
	cores := runtime.NumCPU()
	if got := Together(cores); cores > 1 && !(got >= leastTogether && got <= 1) {
		t.Errorf("Together(%d) = %v, want a share", cores, got)
	}
	if got := Together(1); got != 0 {
		t.Errorf("Together(1) = %v, want 0: there is nothing to compare", got)
	}
	if got := Together(4 * cores); !(got >= leastTogether && got <= 1) {
		t.Errorf("Together(%d) on %d cores = %v: threads that wait for a core are not slower ones", 4*cores, cores, got)
	}
}
