package measured_test

import (
	"testing"

	"github.com/scalebench/scalebench/test/program"
)

// TestPressure: the pressures of a volume with limits drawn at random, under loads of set
// rates, are what arithmetic says, and a limit that changes is seen by watch within two
// seconds, also on an agent. `make servicelevel-proof` measures more.
func TestPressure(t *testing.T) {
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	program.NeedLab(t)
	t.Parallel() // it waits for its volume, which its own limits hold back
	rng := drawn(t)
	v := program.DrawVolume(rng, 1)
	p := program.Install(t).Press(v)
	for _, l := range []program.FioLoad{v.DrawLoad(rng, 4, true, false), v.DrawLoad(rng, 128, false, true),
		v.DrawLoad(rng, []int{4, 128}[rng.IntN(2)], true, true)} {
		program.Calmly(t, func() error { return p.JudgeLoad(l, 3) })
	}
	program.Calmly(t, p.JudgeChange)
	program.Calmly(t, p.JudgeAgents)
	p.Down()
}
