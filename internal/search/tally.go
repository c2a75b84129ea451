package search

// tally counts the windows of one load.
type tally struct{ passes, fails int }

func (t *tally) add(passed bool) {
	if passed {
		t.passes++
	} else {
		t.fails++
	}
}

func (t tally) windows() int { return t.passes + t.fails }

// passed and failed are what most windows say.
func (t tally) passed() bool { return t.passes > t.fails }
func (t tally) failed() bool { return t.fails > t.passes }

// enough is how many windows must agree before a load is reported.
const enough = 2

func (t tally) surelyPassed() bool { return t.passed() && t.passes >= enough }
func (t tally) surelyFailed() bool { return t.failed() && t.fails >= enough }
