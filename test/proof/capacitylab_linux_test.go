//go:build proof

package proof_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/study/capacity"
	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/proof/parts"
)

// zipped makes nginx copy and compress the page, so that it has something to do.
const zipped = "sendfile off; gzip on; gzip_types *; gzip_comp_level 6;"

// labCapacity searches for the capacity of nginx on a host with so many cores,
// from a generator with so many.
func (w *installation) labCapacity(server, generator float64, code int) capacity.Record {
	w.T.Helper()
	file := w.Write("capacity.yaml", fmt.Sprintf(`
fleet: {lab: {nodes: 1, cpu: %g}}
services: [{name: web, port: 8080, cpu: %g, command: %q}]
evaluations: [search]
workloads:
  - {kind: load, target: "http://${service.web}:8080/", sla: p90=100ms, duration: 2s, warm_up: 1s, resolution: 0.05,
     requests: [{headers: {Accept-Encoding: gzip}}]}
`, generator, server, program.LabNginx(65536, zipped)))
	out, stderr, err := w.Try("run", file, "--format", "json")
	got := 0
	if exit := (*exec.ExitError)(nil); err != nil {
		if !errors.As(err, &exit) {
			w.T.Fatal(err)
		}
		got = exit.ExitCode()
	}
	if got != code {
		w.T.Fatalf("exit code %d, want %d\n%s\n%s", got, code, out, stderr)
	}
	var r capacity.Record
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		w.T.Fatalf("%v in %s", err, out)
	}
	return r
}

// TestLabCapacity: a server on half a core takes half of what it takes on a
// whole one.
func TestLabCapacity(t *testing.T) {
	parts.Begin(t)
	program.NeedNginx(t)
	program.Calmly(t, func() error {
		half := installForLabs(t).labCapacity(.5, 1, 0)
		whole := installForLabs(t).labCapacity(1, 1, 0)
		for name, r := range map[string]capacity.Record{"half a core": half, "a core": whole} {
			if r.Limit != capacity.LimitTarget || r.Estimate == nil {
				return fmt.Errorf("%s: limit %s, estimate %v, warnings %q", name, r.Limit, r.Estimate, r.Warnings)
			}
		}
		ratio := *half.Estimate / *whole.Estimate
		t.Logf("nginx takes %.0f/s on half a core, %.0f/s on a core: %.2f", *half.Estimate, *whole.Estimate, ratio)
		if ratio < .42 || ratio > .58 { // a core of a virtual machine is not the same one all the time
			return fmt.Errorf("half a core takes %.2f of what a core does, want about .5", ratio)
		}
		return nil
	})
}

// TestStarvedGenerator: no capacity is reported when it is the generator that
// can do no more.
func TestStarvedGenerator(t *testing.T) {
	parts.Begin(t)
	program.NeedNginx(t)
	r := installForLabs(t).labCapacity(1, .03, 4)
	if r.Limit != capacity.LimitGenerator || r.Estimate != nil || r.CI != nil {
		t.Errorf("limit %s, estimate %v, want generator and none", r.Limit, r.Estimate)
	}
	if !strings.Contains(strings.Join(r.Warnings, "\n"), "the target's capacity is unknown") {
		t.Errorf("the warnings do not say why: %q", r.Warnings)
	}
}
