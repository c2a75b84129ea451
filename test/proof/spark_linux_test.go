//go:build proof

package proof_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/explain"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study/variability"
	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/proof/parts"
)

// needSpark puts what scripts/spark.sh has installed on the PATH.
func needSpark(t *testing.T) {
	t.Helper()
	spark, err := filepath.Abs("../../.cache/spark/bin")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", spark+":"+os.Getenv("PATH"))
}

// TestLabSpark: Spark on the nodes of a lab finds the sum that the generator
// knows, and leaves no process; a table with one digit changed fails the task.
func TestLabSpark(t *testing.T) {
	parts.Begin(t)
	program.NeedLab(t)
	needSpark(t)
	w := install(t)
	data := filepath.Join(w.Dir, "visits")
	file := w.Write("spark.yaml", fmt.Sprintf(`
fleet: {lab: {nodes: 2}}
workloads: [{kind: spark, size: 8MB, sources: 10000, skew: 1, cores: 1, path: %s, timeout: 15m}]
evaluations: [parallel]
retries: {failed: 0}
trials: 1
`, data))
	_, stderr, err := w.Try("run", file)
	if err != nil {
		t.Fatalf("run: %v\n%s", err, stderr)
	}
	d := w.Data("latest")
	program.CheckComplete(t, d)
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
	program.CheckNothing(t, program.LabName(t, stderr))
	program.AwaitNobody(t, w.Dir)

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
	_, stderr, err = w.Try("run", file)
	d = w.Data("latest")
	if err == nil || d.Run.State != model.RunIncomplete || !strings.Contains(d.Run.Reason, "the job's sum is wrong") {
		t.Errorf("with a table that was changed: %v, %s\n%s", err, d.Run.State.With(d.Run.Reason), stderr)
	}
	program.AwaitNobody(t, w.Dir)
}

// TestLabSparkDivided: each node has a part of the table and reads it itself, which the
// job holds against where its tasks are; the sum of all is right.
func TestLabSparkDivided(t *testing.T) {
	parts.Begin(t)
	program.NeedLab(t)
	needSpark(t)
	w := install(t)
	data := filepath.Join(w.Dir, "visits")
	w.Run("run", w.Write("divided.yaml", fmt.Sprintf(`
fleet: {lab: {nodes: 3}}
workloads: [{kind: spark, divided: true, size: 9MB, sources: 10000, skew: 1, cores: 2, path: %s, timeout: 15m}]
evaluations: [parallel]
retries: {failed: 0}
trials: 1
`, data)))
	d := w.Data("latest")
	program.CheckComplete(t, d)
	got := make(map[string]float64)
	for _, r := range d.Accepted() {
		for _, s := range r.Samples {
			got[s.Metric] = s.Value
		}
	}
	tables, err := filepath.Glob(filepath.Join(data, "*.csv"))
	if err != nil || len(tables) != 3 {
		t.Fatalf("tables %v, %v, want one a node", tables, err)
	}
	rows := 0
	for _, file := range tables {
		text, err := os.ReadFile(file)
		if err != nil || len(text) < 3_000_000 || len(text) > 3_000_100 {
			t.Errorf("%s: %d bytes, %v, want a third of the table", file, len(text), err)
		}
		rows += bytes.Count(text, []byte("\n"))
	}
	cached, ok := got["spark_cached"]
	if t.Logf("samples: %v", got); got["spark_rows"] != float64(rows) || !ok || cached > 9e6/100 {
		t.Errorf("samples %v, want %d rows, and nothing from memory", got, rows)
	}
}

// TestLabSparkBeside: a campaign in which processors have half of their speed in
// known repetitions. The COVs of processor and memory are those of the arithmetic,
// disk and network are steady, and Spark, of which computing is not all, has a
// runtime that is long when the processor is slow.
func TestLabSparkBeside(t *testing.T) {
	parts.Begin(t)
	program.NeedLab(t)
	needSpark(t)
	w := install(t)
	w.Run("run", "../../examples/spark-beside.yaml")
	checkBeside(t, w)
}

func checkBeside(t *testing.T, w *installation) {
	t.Helper()
	var got variability.Result
	if err := json.Unmarshal([]byte(w.Run("variability", "spark-beside", "--by", "cpu_limit", "--format", "json")),
		&got); err != nil {
		t.Fatal(err)
	}
	const spark, cpu, memory = "visits spark_runtime", "cpu integer_rate", "memory copy_bandwidth"
	if got.Together == nil {
		t.Fatal("the metrics are not compared")
	}
	n, busy := busyShare(t, &got, spark)
	if n < 10 || busy < .25 || busy > .75 {
		t.Fatalf("%d repetitions, of which %.0f %% were in busy hours: too few to tell", n, 100*busy)
	}
	// A share p at a level that is r times the others'.
	cov := func(p, r float64) float64 {
		return math.Sqrt(p*(1-p)*float64(n)/float64(n-1)) * math.Abs(1-r) / (1 - p*(1-r))
	}
	for _, tt := range []struct {
		metric string
		want   func(c float64, ci explain.Interval) bool
		words  string
	}{
		{cpu, func(_ float64, ci explain.Interval) bool { return ci[0] <= cov(busy, .5) && cov(busy, .5) <= ci[1] }, "an interval that holds the arithmetic"},
		{memory, func(_ float64, ci explain.Interval) bool { return ci[0] <= cov(busy, .5) && cov(busy, .5) <= ci[1] }, "an interval that holds the arithmetic"},
		{spark, func(c float64, _ explain.Interval) bool { return c > .5*cov(busy, 2) && c < 1.3*cov(busy, 2) }, "about the arithmetic"},
		{"random-read disk_read_iops", func(c float64, _ explain.Interval) bool { return c < .02 }, "less than 2 %"},
		{"network network_receive_throughput", func(c float64, _ explain.Interval) bool { return c < .02 }, "less than 2 %"},
	} {
		i := slices.IndexFunc(got.Together.Metrics, func(m explain.TogetherMetric) bool { return m.Name == tt.metric })
		if i < 0 || got.Together.Metrics[i].COVCI == nil {
			t.Errorf("there is no COV of %s beside the others", tt.metric)
			continue
		}
		m := got.Together.Metrics[i]
		t.Logf("%s: COV %.3f %.3f of %d repetitions; if all of it follows the processor %.3f", m.Name, *m.COV, *m.COVCI, m.N, cov(busy, .5))
		if !tt.want(*m.COV, *m.COVCI) {
			t.Errorf("%s: COV %.4f %.4f, want %s, %.4f", m.Name, *m.COV, *m.COVCI, tt.words, cov(busy, .5))
		}
	}
	// Of two levels that nothing else varies in, ranks within a level are random:
	// 12·(p·m₁² + (1−p)·m₂² − 1/4) of their mean ranks m₁ = p/2 and m₂ = (1+p)/2.
	ranks := -3 * busy * (1 - busy)
	for _, of := range []string{cpu, memory} {
		i := slices.IndexFunc(got.Together.Pairs, func(p explain.Pair) bool { return p.A == spark && p.B == of })
		if i < 0 {
			t.Errorf("%s and %s are not compared", spark, of)
			continue
		}
		p := got.Together.Pairs[i]
		t.Logf("%s and %s: rank correlation %.2f %v, n %d worth %.1f", p.A, p.B, p.Rho, p.RhoCI, p.N, p.EffectiveN)
		if p.RhoCI == nil || p.Rho > -.4 || p.RhoCI[0] > ranks || p.RhoCI[1] < ranks {
			t.Errorf("%s and %s: %+v, want a negative correlation, and an interval that holds %.2f", p.A, p.B, p, ranks)
		}
	}
	if text := w.Run("variability", "spark-beside"); !strings.Contains(text, "Metrics of the same repetitions") {
		t.Errorf("the text does not compare the metrics:\n%s", text)
	}
}

// busyShare is how many repetitions there are, and the share of those with half of
// the processor.
func busyShare(t *testing.T, r *variability.Result, metric string) (n int, share float64) {
	t.Helper()
	i := slices.IndexFunc(r.Metrics, func(m variability.Metric) bool { return m.Name() == metric })
	if i < 0 || len(r.Metrics[i].Groups) == 0 {
		t.Fatalf("%s has no groups by cpu_limit", metric)
	}
	for _, g := range r.Metrics[i].Groups[0].Groups {
		n += g.N
		if strings.HasPrefix(g.Level, "0.4") {
			share += float64(g.N)
		}
	}
	return n, share / float64(n)
}
