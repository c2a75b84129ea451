package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// TestLabSpark: Spark on the nodes of a lab finds the sum that the generator
// knows, and leaves no process; a table with one digit changed fails the task.
func TestLabSpark(t *testing.T) {
	if !*labProof {
		t.Skip("takes a minute and more, and needs scripts/spark.sh; `make lab-proof` runs it")
	}
	needLab(t)
	spark, err := filepath.Abs("../../.cache/spark/bin")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", spark+":"+os.Getenv("PATH"))
	w := newWorld(t)
	data := filepath.Join(w.dir, "visits")
	file := w.write("spark.yaml", fmt.Sprintf(`
fleet: {lab: {nodes: 2}}
workloads: [{kind: spark, size: 8MB, sources: 10000, skew: 1, cores: 1, path: %s, timeout: 15m}]
evaluations: [parallel]
retries: {failed: 0}
trials: 1
`, data))
	_, stderr, err := w.try("run", file)
	if err != nil {
		t.Fatalf("run: %v\n%s", err, stderr)
	}
	d := w.data("latest")
	checkComplete(t, d)
	took := make(map[string]float64)
	for _, r := range d.Accepted() {
		for _, s := range r.Samples {
			if strings.HasPrefix(s.Metric, "spark_") {
				took[s.Metric] = s.Value
			}
		}
	}
	t.Logf("seconds: %v", took)
	if sum := took["spark_session"] + took["spark_aggregate"]; len(took) != 4 || took["spark_cluster_start"] <= 0 || sum < 0.999*took["spark_runtime"] || sum > 1.001*took["spark_runtime"] {
		t.Errorf("seconds: %v, want four, and the runtime that of its parts", took)
	}
	checkNothing(t, labName(t, stderr))
	awaitNobody(t, w.dir)

	tables, err := filepath.Glob(filepath.Join(data, "*.csv"))
	if err != nil || len(tables) != 1 {
		t.Fatalf("tables %v, %v, want one", tables, err)
	}
	text, err := os.ReadFile(tables[0])
	if err != nil {
		t.Fatal(err)
	}
	i := bytes.IndexByte(text, '\n') - 1 // the last digit of the first revenue
	text[i] = '0' + (text[i]-'0'+1)%10
	if err := os.WriteFile(tables[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr, err = w.try("run", file)
	d = w.data("latest")
	if err == nil || d.Run.State != model.RunIncomplete || !strings.Contains(d.Run.Reason, "the job's sum is wrong") {
		t.Errorf("with a table that was changed: %v, %s\n%s", err, d.Run.State.With(d.Run.Reason), stderr)
	}
	awaitNobody(t, w.dir)
}
