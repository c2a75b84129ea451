package monitor

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestDocTable: the package comment has the metrics as they are.
func TestDocTable(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(doc), "\n")
	want := Metrics()
	for _, line := range lines {
		if !strings.HasPrefix(line, "//\t") {
			continue
		}
		if len(want) == 0 {
			t.Fatalf("doc.go has a line too many: %q", line)
		}
		if w := docLine(want[0]); line != w {
			t.Errorf("doc.go has\n%s\nwant\n%s", line, w)
		}
		want = want[1:]
	}
	if len(want) > 0 {
		t.Errorf("doc.go lacks %s", docLine(want[0]))
	}
}

func docLine(m Metric) string {
	kind := "state"
	if m.Counter {
		kind = "counter"
	}
	return fmt.Sprintf("//\t%-21s %-5s %-8s %-22s %s", m.Name, m.Unit, kind, m.Source, m.Text)
}

// TestEmittedAreListed: every metric that the parsers emit has a unit.
func TestEmittedAreListed(t *testing.T) {
	listed := map[string]bool{}
	for _, m := range Metrics() {
		if listed[m.Name] {
			t.Errorf("%s is listed twice", m.Name)
		}
		listed[m.Name] = true
	}
	for _, tt := range kernelCases {
		for name := range tt.want {
			if strings.Contains(name, ".") && !listed[pattern(name)] {
				t.Errorf("%s (%s) is not in Metrics", name, tt.name)
			}
		}
	}
	for _, m := range diskMetrics {
		for _, name := range []string{"disk." + m, "disk.sda." + m, "disk.dm-0.1." + m, "volume.data." + m} {
			if !listed[pattern(name)] {
				t.Errorf("%s is not in Metrics", name)
			}
		}
	}
	for _, m := range netMetrics {
		if !listed[m.metric] {
			t.Errorf("%s is not in Metrics", m.metric)
		}
	}
}
