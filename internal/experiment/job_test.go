package experiment

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

// paperFigures are the job files of the paper, as printed there.
const paperFigures = "../../examples/paper-"

func TestPaperFigures(t *testing.T) {
	for _, c := range []struct {
		file, name string
		jobs       []Job
	}{
		{"fig2.json", "demo", []Job{
			{Node: "*", Path: "/usr/sbin:/usr/bin:/sbin:/bin", Command: "df -h", Line: 4, Col: 13},
			{Node: "172.31.0.20", Path: "/usr/sbin:/usr/bin:/sbin:/bin", Command: "ifconfig", Line: 8, Col: 13},
		}},
		{"fig3.json", "network", []Job{
			{Node: "172.31.0.21", Path: "/usr/sbin:/usr/bin:/Benchmark", Command: "bash nettest.sh 172.31.0.22", Line: 4, Col: 13},
			{Node: "172.31.0.22", Path: "/usr/sbin:/usr/bin:/Benchmark", Command: "bash nettest.sh 172.31.0.21", Line: 8, Col: 13},
		}},
	} {
		src, err := os.ReadFile(paperFigures + c.file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseJob(c.file, src)
		if err != nil {
			t.Fatalf("ParseJob(%s): %v", c.file, err)
		}
		want := &JobFile{Name: c.name, Jobs: c.jobs, Timeout: DefaultJobTimeout, Output: defaults().Output, SourceName: c.file, Source: string(src)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ParseJob(%s) (-want +got):\n%s", c.file, diff)
		}
	}
}

func TestJobNames(t *testing.T) {
	for src, want := range map[string]string{
		`{"jobName": "a", "jobs": [{"command": "x"}]}`:  "a",
		`{"testName": "b", "jobs": [{"command": "x"}]}`: "b",
		`{"jobs": [{"command": "x"}]}`:                  "some-jobs",
	} {
		got, err := ParseJob("dir/some-jobs.json", []byte(src))
		if err != nil || got.Name != want {
			t.Errorf("ParseJob(%s) = %+v, %v, want the name %q", src, got, err, want)
		}
	}
}

// Node-generic jobs have no node id, or "*".
func TestJobWithoutNode(t *testing.T) {
	got, err := ParseJob("f.json", []byte(`{"jobs": [{"command": "x"}]}`))
	if err != nil || got.Jobs[0].Node != AllNodes {
		t.Errorf("ParseJob = %+v, %v, want node *", got, err)
	}
}

func FuzzParseJob(f *testing.F) {
	files, _ := filepath.Glob("testdata/errors/*.json")
	for _, file := range append(files, paperFigures+"fig2.json", paperFigures+"fig3.json") {
		if src, err := os.ReadFile(file); err == nil {
			f.Add(src)
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		j, err := ParseJob("f.json", src)
		if err != nil {
			if !errors.Is(err, model.ErrUsage) {
				t.Fatalf("ParseJob = %v, want a model.ErrUsage", err)
			}
			return
		}
		if len(j.Jobs) == 0 || j.Name == "" {
			t.Fatalf("accepted an impossible job file %+v", j)
		}
		for _, job := range j.Jobs {
			if job.Command == "" || job.Line < 1 || checkNode(job.Node) != nil {
				t.Fatalf("accepted an impossible job %+v", job)
			}
		}
	})
}
