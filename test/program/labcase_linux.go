package program

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/lab"
)

// LabCase is a lab with limits that give the CDI by arithmetic.
type LabCase struct {
	Name string
	File string // experiment file
	// truth is the CDI in percent, by workload; every metric of the workload
	// must show it.
	Truth map[string]float64
	Why   string // the arithmetic
}

// S3Service is an object store on a host with this link.
func S3Service(link string) string {
	return fmt.Sprintf(`  - {name: s3, port: 7070, link: %s, environ: {ROOT_ACCESS_KEY: lab, ROOT_SECRET_KEY: labsecret},
     command: "mkdir -p $SCALEBENCH_DIR/store &&
       exec %s --port $SCALEBENCH_ADDRESS:7070 --quiet posix $SCALEBENCH_DIR/store"}`, link, Versitygw())
}

// S3Workload puts objects into it; more are further keys of the workload.
func S3Workload(more string) string {
	return fmt.Sprintf(`  - {kind: objectstore, endpoint: "http://${service.s3}:7070", bucket: bench, create: true, operation: put, size: 1MB, concurrency: 4, duration: 4s%s}`, more)
}

// Versitygw is the path of the S3 server that scripts/deps.sh installs.
func Versitygw() string {
	path, err := filepath.Abs(filepath.Join("..", "..", ".tools", "versitygw"))
	if err != nil {
		return "versitygw"
	}
	return path
}

// InstallForLabs is an installation that may make labs and reach their object stores.
func InstallForLabs(t *testing.T) *Installation {
	t.Helper()
	NeedLab(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "lab")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "labsecret")
	return Install(t)
}

// RunText runs an experiment that a test composed.
func (w *Installation) RunText(text string) {
	w.T.Helper()
	file := filepath.Join(w.T.TempDir(), "lab.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		w.T.Fatal(err)
	}
	w.Run("run", file)
}

// LabTable has a row for every finding of every try.
type LabTable struct {
	Rows             string
	Measured, Missed int
}

// Add adds what one try found.
func (t *LabTable) Add(row string, missed bool) {
	mark := "yes"
	t.Measured++
	if missed {
		mark = "**no**"
		t.Missed++
	}
	t.Rows += fmt.Sprintf("%s %s |\n", row, mark)
}

func (t *LabTable) String() string {
	return "\n| lab | arithmetic | expected | measured | 95 % interval | verdict | try | holds |\n" +
		"|---|---|---|---|---|---|---|---|\n" + t.Rows
}

// Prove runs the case as often as measure does, until every finding shows the
// truth. Every try is in the table.
func (p LabCase) Prove(t *testing.T, table *LabTable, run func(*Installation)) {
	for try := 1; ; try++ {
		w := InstallForLabs(t)
		run(w)
		CheckComplete(t, w.Data("latest"))
		findings := w.Findings("latest")
		if len(findings) == 0 {
			t.Fatal("no findings")
		}
		wrong := ""
		for _, f := range findings {
			bad, row := p.Judge(f, try)
			table.Add(row, bad != "")
			wrong += bad
			t.Logf("%s; warnings %q", row, f.Warnings)
		}
		switch {
		case wrong == "":
			return
		case try == Tries:
			t.Fatalf("after %d tries: %s", Tries, wrong)
		}
		t.Log(wrong)
	}
}

// Expect tells the file what is known beforehand.
func (p LabCase) Expect() string {
	var out []string
	for _, workload := range slices.Sorted(maps.Keys(p.Truth)) {
		out = append(out, fmt.Sprintf("%s: %g", workload, p.Truth[workload]))
	}
	return "expect: {" + strings.Join(out, ", ") + "}\n"
}

// Judge compares a finding with the truth: what is wrong, and a row for the
// table.
func (p LabCase) Judge(f evaluation.Finding, try int) (wrong, row string) {
	truth, ok := p.Truth[f.Workload]
	if !ok {
		return fmt.Sprintf("nothing is known about %s; ", f.Workload), ""
	}
	if f.CDI == nil || f.CI == nil {
		return fmt.Sprintf("%s: CDI %v, interval %v; ", f.Metric, f.CDI, f.CI), ""
	}
	if f.ExpectedHere != nil { // its cores slow each other down
		truth = *f.ExpectedHere
	}
	row = fmt.Sprintf("| %s: %s | %s | %.1f %% | %.2f %% | [%.2f, %.2f] | %s | %d |", p.Name, f.Metric, p.Why, truth,
		*f.CDI, f.CI[0], f.CI[1], f.Verdict, try)
	want := evaluation.Degraded
	if truth == 0 {
		want = evaluation.None
	}
	if f.Verdict == evaluation.Degraded && f.ExpectedHere != nil && *f.ExpectedHere > 0 {
		want = evaluation.Degraded
	}
	if math.Abs(*f.CDI-truth) > 3 || !f.CI.Contains(truth) || f.Verdict != want {
		wrong = fmt.Sprintf("%s: %.2f %% %v %s; want %.1f %% within 3 points and the interval, %s; ", f.Metric, *f.CDI, *f.CI, f.Verdict, truth, want)
	}
	return wrong, row
}

// NeedLab skips a test where no lab can be made, not in CI; and in short runs,
// as with the race detector, which make test repeats in full.
func NeedLab(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("makes a lab; make test does")
	}
	err := lab.Check()
	switch {
	case err == nil:
	case os.Getenv("CI") != "":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
}
