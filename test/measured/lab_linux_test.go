package measured_test

import (
	"testing"

	"github.com/scalebench/scalebench/test/program"
)

// TestLab: in a lab that has a little of everything the measured CDI lies within 3 points
// of the arithmetic, which lies within the 95 % interval. `make lab-proof` measures more.
func TestLab(t *testing.T) {
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	p := program.LabCase{
		Name: "all in one", Why: "1 − 225/(3 × 200), for the disk 1 − 1/3",
		Truth: map[string]float64{"network": 62.5, "disk": 100 * (1 - 1./3), "objectstore": 62.5},
		File: `fleet:
  lab:
    volumes: [{name: data, size: 256MiB, iops: 400, shared: true}]
    groups: [{name: rack, nodes: 3, link: 200Mbit/s, uplink: 225Mbit/s}, {name: core, nodes: 1, use: []}]
services:
` + program.S3Service("1Gbit/s") + `
workloads:
  - {kind: network, pairing: all_to_one, sink: core, warm_up: 500ms, duration: 2s}
  - {kind: disk, on: {group: rack}, volume: data, pattern: random, operation: write, block_size: 64KiB, direct: true,
     size: 32MiB, duration: 2s, ramp: 1s}
` + program.S3Workload(", on: {group: rack}") + "\n",
	}
	table := &program.LabTable{}
	p.Prove(t, table, func(w *program.Installation) { w.RunText(p.File + p.Expect()) })
	t.Log(table)
}
