package synthetic

import (
	"bytes"
	"encoding/csv"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/frame"
)

var update = flag.Bool("update", false, "rewrite the tables in examples")

// write is a campaign as a table, with the facts named.
func write(f frame.Frame, value string, facts map[string]string, order []string) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write(append([]string{"time", value}, order...))
	for i, v := range f.Values {
		row := []string{time.Unix(0, f.Times[i]).UTC().Format("2006-01-02T15:04Z07:00"), fmt.Sprintf("%.0f", v)}
		for _, name := range order {
			row = append(row, f.Fact(facts[name]).Level(i))
		}
		_ = w.Write(row)
	}
	w.Flush()
	return b.Bytes()
}

// TestExamples: the tables that docs/variability.md analyses are those of the
// generator.
func TestExamples(t *testing.T) {
	paper := Paper(13)
	own := Campaign{Seed: 3, Times: 60, Mean: 1_248_629, Noise: 0.001}
	for path, want := range map[string][]byte{
		"../../../examples/two-bands.csv": write(paper.Frame(), "score",
			map[string]string{"cpu": "cpu_model", "zone": "zone"}, []string{"cpu", "zone"}),
		"../../../examples/own-cluster.csv": write(own.Frame(), "score", nil, nil),
	} {
		if *update {
			if err := os.WriteFile(path, want, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator makes (%v); run the test with -update", path, err)
		}
		if n := strings.Count(string(want), "\n"); n < 50 {
			t.Errorf("%s has %d lines", path, n)
		}
	}
}
