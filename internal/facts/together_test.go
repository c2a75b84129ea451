package facts

import (
	"runtime"
	"testing"
)

// TestTogether: a core keeps a part of its speed that is one; more threads than
// cores leave each its part of them.
func TestTogether(t *testing.T) {
	cores := runtime.NumCPU()
	if got := Together(cores); cores > 1 && !(got > .2 && got <= 1) {
		t.Errorf("Together(%d) = %v, want a share", cores, got)
	}
	if got := Together(1); got != 0 {
		t.Errorf("Together(1) = %v, want 0: there is nothing to compare", got)
	}
	if got := Together(4 * cores); got > .75 {
		t.Errorf("Together(%d) on %d cores = %v, want about a quarter", 4*cores, cores, got)
	}
}
