package kernel

import (
	"testing"
	"time"
)

func TestAllowance(t *testing.T) {
	a := Allowance{PerTurn: time.Millisecond}
	turns := 0
	for range 1000 {
		if a.Turn() {
			turns++
			a.Spent(5 * time.Millisecond)
		}
	}
	if turns != 200 {
		t.Errorf("%d of 1000 turns for 5 ms at 1 ms a turn, want 200", turns)
	}
}
