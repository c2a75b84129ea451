package e2e_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/study/sizing"
	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/workloadtest"
)

// TestPlanOfJobs: a job sends a number of packets that is drawn, and makes two requests. A plan
// holds them against limits in packets and requests a second.
func TestPlanOfJobs(t *testing.T) {
	program.NeedLab(t)
	workloadtest.NeedTool(t, "python3")
	packets := 200 + rand.IntN(200)
	w := program.InstallForLabs(t)
	_, stderr, err := w.Try("run", w.Write("demands.yaml", fmt.Sprintf(`
fleet: {lab: {nodes: 1, link: 100Mbit/s}}
services:
%s
workloads:
  - kind: jobs
    name: work
    endpoint: "http://${service.s3}:7070"
    bucket: bench
    create: true
    stage: {copies: 4, size: 1kB}
    slots: 1
    command: |
      python3 -c "import socket; s = socket.socket(2, 2); [s.sendto(b'x', ('${service.s3}', 9)) for _ in range(%d)]"
      cat {in} >{out}
    put: {}
    duration: 5s
evaluations: [serial]
trials: 1
`, strings.TrimSuffix(program.S3Service("100Mbit/s"), "\n"), packets)))
	if err != nil {
		t.Fatalf("run: %v\n%s", err, stderr)
	}
	var r sizing.Result
	out := w.Run("plan", "--demand-run", "latest:work", "--target", "100/s", "--capacity", "objectstore.get=150op/s",
		"--capacity", "objectstore.put=50op/s", "--capacity", fmt.Sprintf("network.send=%dpacket/s", 100*packets/2),
		"--format", "json")
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	want := map[string]struct {
		least, most float64 // of a job
		answer      sizing.Answer
	}{
		// Queue and store take some packets, too, and what the end of the time cuts off is counted.
		"network.send packet/s": {float64(packets), float64(packets) + 60, sizing.Fails},
		"objectstore.get op/s":  {1, 1.1, sizing.Fits},
		"objectstore.put op/s":  {1, 1.1, sizing.Fails},
	}
	for _, x := range r.Resources {
		name := x.Resource + " " + x.Unit
		of, asked := want[name]
		if perJob := x.Demand / r.NodeRate; asked && (perJob < .98*of.least || perJob > of.most || x.Answer != of.answer) {
			t.Errorf("%s: %v for a job, %s; want %v to %v, %s", name, perJob, x.Answer, of.least, of.most, of.answer)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("the plan has nothing of %v: %+v", want, r.Resources)
	}
}
