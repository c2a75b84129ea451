package monitor

import (
	"testing"
	"time"
)

func TestAllowance(t *testing.T) {
	a := allowance{perTurn: time.Millisecond}
	turns := 0
	for range 1000 {
		if a.turn() {
			turns++
			a.spent(5 * time.Millisecond)
		}
	}
	if turns != 200 {
		t.Errorf("%d of 1000 turns for 5 ms at 1 ms a turn, want 200", turns)
	}
}
