package measured_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/scalebench/scalebench/test/program"
)

// TestServiceLevels: cells of a volume with limits drawn at random are what its model says.
// `make lab-proof` measures more.
func TestServiceLevels(t *testing.T) {
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	program.NeedLab(t)
	t.Parallel() // it waits for its volume, which its own limits hold back
	v := program.DrawVolume(drawn(t), 1)
	program.Calmly(t, func() error {
		cells, err := program.Install(t).MeasureVolume(v.File(1, "500ms", "4s", ", depth: 32"))
		if err != nil {
			return err
		}
		return v.Judge(t, cells)
	})
}

// drawn draws what a test measures, by a seed that the log has.
func drawn(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}
