package files

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/tabular"
)

// lines is a table: a header, and rows by their numbers.
func lines(header string, n int, row func(i int) string) string {
	var b strings.Builder
	b.WriteString(header)
	for i := range n {
		b.WriteString("\n" + row(i))
	}
	return b.String()
}

// TestNameOfCause: what is refused, with why and what to do.
func TestNameOfCause(t *testing.T) {
	mixed := func(i int) string { return fmt.Sprintf("%d,%s", i, []string{"980 MB", "1.02 s"}[i%2]) }
	for name, c := range map[string]struct {
		text, want string
		choice     frame.Choice
	}{
		"Go's durations": {text: "took\n1m22.83s\n1m21s\n", want: `x:2:1: column took has durations such as ` +
			`"1m22.83s" where numbers are expected; write the seconds as a number: 82.83`},
		"with spaces": {text: "took\n1 h 2 min\n1 h\n", want: `write the seconds as a number: 3720`},
		"laps": {text: "n,took\na,00:01:21.57\nb,00:01:20.5\n", want: `x:2:3: column took has durations or times ` +
			`of day such as "00:01:21.57" where numbers are expected; write the seconds as a number: 81.57`},
		"ISO 8601": {text: "took\nPT1M22.5S\nPT80S\n", want: `write the seconds as a number: 82.5`},
		"in JSON":  {text: `{"took": "1m22s"}` + "\n" + `{"took": "1m21s"}`, want: `x:1:1: column took has durations`},
		"durations beside numbers of rows": {text: lines("op,took", 6, func(i int) string {
			return fmt.Sprintf("%d,1m0%ds", i, i)
		}), want: `x:2:3: column took has durations such as "1m00s"`},
		"a chosen column": {text: "took,n\n1m22s,7\n1m21s,7\n", choice: frame.Choice{Value: "took"},
			want: `x:2:1: took is "1m22s"; write the seconds as a number: 82`},
		"units that do not convert": {text: lines("op,v", 16, mixed), want: `x:3:3: column v has values in "MB" ` +
			`and in "s"; give all in one unit`},
		"k6": {text: lines("", 3, func(i int) string {
			return fmt.Sprintf(`{"type": "Point", "data": {"value": %d, "tags": {"status": "200"}}}`, i)
		}), want: `x: no column has the measured values: lists and objects are not read, which these keys hold: ` +
			`data; flatten them, such as with jq -c '. + .data | del(.data)' x > flat.jsonl`},
		"pytest-benchmark": {text: `{"machine_info": {"cpu": 4}, "benchmarks": [{"name": "a", "options": ` +
			`{"min_rounds": 5}, "stats": {"min": 1, "max": 2, "data": [1.0, 1.1]}}]}`,
			want: `hold: options, stats; flatten them, such as with jq -c '.benchmarks[] | . + .stats | del(.stats)'`},
		"a list, an odd key": {text: `[{"a b": {"c-d": 1}, "t": "x"}]`, want: `jq -c '.[] | . + ."a b" | del(."a b")'`},
		"no object":          {text: `{"a": "x", "v": [1, 2]}`, want: "hold: v; give objects of numbers and texts"},
		"currencies": {text: "node,rate\na,¥1\nb,¥2\n", want: `x:2:3: no column has the measured values: none has ` +
			`numbers in its first rows; column rate has "¥1"; use numbers`},
		"apostrophes of spreadsheets": {text: "node,v\na,\nb,'1\nc,'2\n", want: `x:3:3: no column has the measured ` +
			`values: none has numbers in its first rows; column v has "'1"`},
		"remarks":          {text: "node;v;w\na;1 (ok);b\nb;2 (ok);c\n", want: `x:2:3: no column has`},
		"bounds":           {text: "v\tnode\n<1\ta\n~2\tb\n", want: `column v has "<1"`},
		"named as values":  {text: "node,latency\n1st,USD 5\n2nd,USD 6\n", want: `x:2:5: no column has`},
		"names of objects": {text: "node,zone\nn1,us-1\nn2,us-1\n", want: "x: no column has the measured values: none"},
		"numbers of rows": {text: "trial,zone\n1,a\n2,a\n", want: "x: no column has the measured values: the numbers " +
			"of column trial are taken for names, which tell rows apart; the columns are trial, zone; choose one with"},
		"go test -json": {text: `{"Action":"output","Package":"p","Output":"BenchmarkX-4 \t 7 997.1 ns/op\n"}`,
			want: `go test -json wrote it, with the results inside of texts; take these: jq -rj`},
	} {
		_, _, err := Read(t.Context(), "x", strings.NewReader(c.text), c.choice, Limits{})
		if !strings.Contains(said(err), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// TestOtherSpellings: tables that are read, with their metrics and values.
func TestOtherSpellings(t *testing.T) {
	metrics := func(header string) string {
		return lines(header, 8, func(i int) string { return fmt.Sprintf("%s,%d", []string{"cpu", "net"}[i%2], 5+i%3) })
	}
	numbered := func(i int) string { return fmt.Sprintf("%d;z%d;1%d", i, i%2, i%5) }
	for name, c := range map[string]struct{ text, want string }{
		"MetricName":      {metrics("MetricName,Value"), "cpu[5 7 6 5] net[6 5 7 6] "},
		"metricName":      {metrics("metricName,x"), "cpu[5 7 6 5] net[6 5 7 6] "},
		"kpi":             {metrics("kpi,value"), "cpu[5 7 6 5] net[6 5 7 6] "},
		"kpi that is not": {"kpi,value\na,1\nb,2\nc,3\n", "value[1 2 3] "},
		"elapsedTime":     {"elapsedTime,size\n7,1\n8,2\n", "elapsedTime[7 8] "},
		"timeStamp":       {"timeStamp,elapsed\n1767225600123,1\n1767225600124,2\n", "elapsed[1 2] "},
		"both spellings":  {"nodeName,node_name,value\na,b,1\nb,a,2\n", "value[1 2] "},
		"#":               {lines("#;zone;Wert", 6, numbered), "Wert[10 11 12 13 14 10] "},
		"# and a comment": {lines("# made; by; hand\n#;zone;Wert", 3, numbered), "Wert[10 11 12] "},
		"# after sep":     {lines("sep=;\n#;zone;Wert", 3, numbered), "Wert[10 11 12] "},
		"lakhs":           {"v\n\"12,34,567\"\n\"98,765\"\n\"-1,02,345.5\"\n", "v[1.234567e+06 98765 -102345.5] "},
		"quantities":      {lines("op,v", 6, func(i int) string { return fmt.Sprintf("%d,%d ms", i, 7+i) }), "v[7 8 9 10 11 12] "},
		"sizes":           {lines("points,ram", 6, func(i int) string { return fmt.Sprintf("%d,%d GB", 5+i, 8+i%2) }), "points[5 6 7 8 9 10] "},
		"times of day":    {lines("clock,op", 6, func(i int) string { return fmt.Sprintf("12:30:0%d,%d", i, i) }), "op[0 1 2 3 4 5] "},
		"versions":        {"date,branch,version,lat\n2026-01-05,main,1.0,7\n2026-01-05,dev,1.1,8\n", "lat[7 8] "},
		"builds":          {"buildNumber,points\n17,7\n18,8\n", "points[7 8] "},
		"of what":         {"kernel_version,git_commit,v\n6.1,1234567,7\n6.2,7654321,8\n", "v[7 8] "},
		"dates of builds": {"when,release,v\n2026-01-05,2026-01-01,7\n2026-01-06,2026-01-02,8\n", "v[7 8] "},
		"a build's time":  {"node,build (s)\na,7\nb,8\n", "build[7 8] "},
		"time by build":   {"node,ms_per_build\na,7\nb,8\n", "ms_per_build[7 8] "},
		"only counts":     {lines("v", 6, func(i int) string { return fmt.Sprint(i) }), "v[0 1 2 3 4 5] "},
	} {
		frames, told, err := Read(t.Context(), "x", strings.NewReader(c.text), frame.Choice{}, Limits{})
		got := ""
		for _, f := range frames {
			got += fmt.Sprint(f.Metric, f.Workload, f.Values, " ")
		}
		if got = strings.ReplaceAll(got, " [", "["); err != nil || got != c.want {
			t.Errorf("%s: %s, %q, %v; want %s", name, got, told, err, c.want)
		}
	}
}

// TestWide: of many columns, the time grows as their number does.
func TestWide(t *testing.T) {
	columns := make([]column, tabular.MostColumns)
	for i := range columns {
		columns[i] = newColumn(i+1, fmt.Sprintf("c%d", i))
		columns[i].kind = kindUnix
	}
	start := time.Now()
	_, err := newPlan(&file{name: "x"}, columns, false)
	if took := time.Since(start); !strings.Contains(said(err), "it is not clear") || took > time.Second {
		t.Errorf("after %v: %v", took, err)
	}
}

// TestParquetWide: the limit holds before anything is read.
func TestParquetWide(t *testing.T) {
	group := parquet.Group{}
	for i := range tabular.MostColumns + 1 {
		group[fmt.Sprintf("c%d", i)] = parquet.Leaf(parquet.DoubleType)
	}
	var b bytes.Buffer
	w := parquet.NewWriter(&b, parquet.NewSchema("x", group), parquet.PageBufferSize(1), parquet.WriteBufferSize(0))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, _, err := Read(t.Context(), "x", &b, frame.Choice{}, Limits{})
	if want := "x: there are 16,385 columns; give at most 16,384"; said(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestAskedFacts: what the study asks for is a fact, however many numbers it has, and no
// value; times stay times.
func TestAskedFacts(t *testing.T) {
	for name, c := range map[string]struct {
		header, asked string
		row           func(i int) string
		facts, levels int
	}{
		"many numbers":        {"item,rate", "item", func(i int) string { return fmt.Sprintf("%d,%d.5", 1000+7*i, i) }, 1, 100},
		"beside other values": {"Item No,points", "item_no", func(i int) string { return fmt.Sprintf("%d,%d.5", 7*i, i) }, 1, 100},
		"half numbers":        {"x,value", "X", func(i int) string { return fmt.Sprintf("%d,%d.5", i/2, i) }, 1, 50},
		"times": {"at,value", "at", func(i int) string {
			return fmt.Sprintf("2026-01-05T00:%02d:%02dZ,%d.5", i/60, i%60, i)
		}, 0, 0},
		"not asked for": {"item,rate", "", func(i int) string { return fmt.Sprintf("%d,%d.5", 1000+7*i, i) }, 0, 0},
	} {
		frames, told, err := Read(t.Context(), "x", strings.NewReader(lines(c.header, 100, c.row)),
			frame.Choice{Facts: []string{c.asked}}, Limits{})
		if err != nil || len(frames) != 1 || frames[0].Len() != 100 || len(frames[0].Facts) != c.facts {
			t.Errorf("%s: %v, %v, %v; want %d facts", name, frames, told, err, c.facts)
			continue
		}
		if f := frames[0]; c.facts > 0 && len(f.Facts[0].Levels)-1 != c.levels {
			t.Errorf("%s: %d levels, want %d", name, len(f.Facts[0].Levels)-1, c.levels)
		}
	}
}

func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
