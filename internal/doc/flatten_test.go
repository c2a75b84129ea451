package doc_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/stats"
)

type (
	flatResult struct {
		Level   float64      `json:"level"`
		Metrics []flatMetric `json:"metrics"`
		Empty   []flatMetric `json:"empty"`
		hidden  int
	}
	flatKey struct {
		Name  string    `json:"name"`
		Phase flatPhase `json:"phase,omitempty"`
	}
	flatPhase string
	flatOuter struct { // embedded: its name is that of one of its fields
		*Metric
		N string `json:"n"`
	}
	Metric struct {
		Metric string `json:"metric"`
		N      int    `json:"n"`
	}
	flatMetric struct {
		flatKey
		N        int             `json:"n"`
		Mean     *float64        `json:"mean"`
		CI       *stats.Interval `json:"ci"`
		CovCI    *[2]float64     `json:"cov_ci"`
		Side     *flatSide       `json:"side"`
		Grade    flatGrade       `json:"grade"`
		Warnings []string        `json:"warnings"`
		Runs     []*flatRun      `json:"runs"`
		Counts   map[string]int  `json:"counts"`
		Numbers  []float64       `json:"numbers"`
		Secret   string          `json:"-"`
	}
	flatSide struct {
		Rows   int        `json:"rows"`
		SD     float64    `json:"sd"`
		Values [2]float64 `json:"values"`
	}
	flatRun struct {
		*flatOrigin
		At   time.Time `json:"at,omitzero"`
		Mean float64   `json:"mean"`
		OK   bool      `json:"ok,omitempty"`
	}
	flatOrigin struct {
		Branch string `json:"branch"`
		Ok     string `json:"OK"`
	}
	flatGrade int
)

func (g flatGrade) MarshalJSON() ([]byte, error) {
	return json.Marshal(strings.Repeat("*", int(g)))
}

func flatten() *flatResult {
	mean := 2.5
	return &flatResult{Level: .95, hidden: 7, Metrics: []flatMetric{
		{flatKey: flatKey{Name: "rate", Phase: "serial"}, N: 3, Mean: &mean, CI: &stats.Interval{Lo: 2, Hi: 3},
			CovCI: &[2]float64{.1, math.Inf(1)},
			Side:  &flatSide{Rows: 4, SD: math.NaN(), Values: [2]float64{5, 6}}, Grade: 2, Warnings: []string{"few", "old"},
			Secret: "s",
			Runs: []*flatRun{{Mean: 7}, {flatOrigin: &flatOrigin{Branch: "main"},
				At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600)), Mean: 8, OK: true}}},
		{flatKey: flatKey{Name: "time"}},
		{flatKey: flatKey{Name: "size"}, Runs: []*flatRun{{flatOrigin: &flatOrigin{}, Mean: 9}}},
	}}
}

// TestFlatten: rows, columns and values are those of the JSON form.
func TestFlatten(t *testing.T) {
	r := flatten()
	for _, c := range []struct {
		name    string
		result  any
		rows    string
		columns []string
		keys    string
		want    [][]any
	}{
		{
			name: "all keys of a slice", result: r, rows: "metrics",
			keys: "name phase n mean ci_lo ci_hi cov_ci_lo cov_ci_hi side_rows side_sd side_values_lo side_values_hi grade " +
				"warnings",
			want: [][]any{
				{"rate", "serial", 3, 2.5, 2., 3., .1, nil, 4, nil, 5., 6., "**", "few; old"},
				{"time", "", 0, nil, nil, nil, nil, nil, nil, nil, nil, nil, "", ""},
				{"size", "", 0, nil, nil, nil, nil, nil, nil, nil, nil, nil, "", ""},
			},
		},
		{
			name: "chosen keys of a slice in a slice", result: r, rows: "metrics.runs",
			columns: []string{"level", "metric=name", "mean", "n", "at", "ok", "branch", "rows=side_rows"},
			keys:    "level metric mean n at ok branch rows",
			want: [][]any{
				{.95, "rate", 7., 3, nil, false, nil, 4},
				{.95, "rate", 8., 3, "2026-01-02T02:04:05Z", true, "main", 4},
				{.95, "size", 9., 0, nil, false, "", nil},
			},
		},
		{name: "a slice itself", result: r.Metrics[1:], columns: []string{"name"}, keys: "name",
			want: [][]any{{"time"}, {"size"}}},
		{
			name: "embedded", result: []flatOuter{{&Metric{"a", 1}, "b"}, {nil, "c"}},
			keys: "metric n", want: [][]any{{"a", "b"}, {nil, "c"}},
		},
		{name: "a result itself", result: r, keys: "level", want: [][]any{{.95}}},
		{name: "no rows", result: r, rows: "empty", columns: []string{"level", "name"}, keys: "level name"},
	} {
		got := doc.Flatten(c.result, c.rows, c.columns...)
		var keys []string
		for _, column := range got.Columns {
			keys = append(keys, column.Key)
			if column.For != doc.Programs {
				t.Errorf("%s: column %s is for %q, want programs", c.name, column.Key, column.For)
			}
		}
		var values [][]any
		for _, row := range got.Rows {
			var line []any
			for _, cell := range row.Cells {
				line = append(line, cell.Value)
			}
			values = append(values, line)
		}
		if diff := cmp.Diff(strings.Fields(c.keys), keys); diff != "" {
			t.Errorf("%s: columns (-want +got):\n%s", c.name, diff)
		}
		if diff := cmp.Diff(c.want, values); diff != "" {
			t.Errorf("%s: rows (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestFlattenUnknown: what is misspelt is found without a row.
func TestFlattenUnknown(t *testing.T) {
	for _, c := range [][]string{{"metrics", "nam"}, {"metrics", "Secret"}, {"metrics", "hidden"}, {"metrics", "runs"},
		{"metric"}, {"metrics.side"}, {"level"}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Flatten(%q) did not panic", c)
				}
			}()
			doc.Flatten(&flatResult{}, c[0], c[1:]...)
		}()
	}
}
