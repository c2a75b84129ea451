package files

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/golden"
)

// outline is all of frames, as text: a line a frame, fact and doubt.
func outline(frames []frame.Frame, told []string) string {
	var b strings.Builder
	for _, f := range frames {
		fmt.Fprintf(&b, "%s|%s|%s [%s] %s %v", f.Workload, f.Metric, f.Phase, f.Unit, f.Better, f.Values)
		for _, t := range f.Times {
			fmt.Fprintf(&b, " %s", stamp(t))
		}
		b.WriteByte('\n')
		for _, x := range f.Facts {
			fmt.Fprintf(&b, "  %s %q %v\n", x.Name, x.Levels[1:], x.Codes)
		}
		for _, d := range f.Doubts {
			fmt.Fprintf(&b, "  %s %s: %s\n", d.Severity, d.Code, d.Text)
		}
	}
	for _, t := range told {
		fmt.Fprintf(&b, "- %s\n", t)
	}
	return b.String()
}

// tables are read, and what becomes of each is in testdata/tables.golden.
var tables = []struct {
	name, text string
	choice     frame.Choice
}{
	{"wide", "time,zone,score\n2026-01-02T00:00:00Z,a,1.5\n2026-01-02T00:00:01Z,b,2\n2026-01-02T00:00:01+01:00,,3\n", frame.Choice{}},
	{"one row", "score\n5\n", frame.Choice{}},
	{"one column, CRLF and BOM", "\ufeffLatency (ms)\r\n1\r\n\r\n2\r\n", frame.Choice{}},
	{"semicolons, comments, quotes", "# mine\n\"Zone A\"; value\n\"x;\ny\"; 1\n# yours\n z ;-2\n", frame.Choice{}},
	{"tabs with empty cells", "node\tcpu\tvalue\na\t\t1\n\tx\t2\n", frame.Choice{}},
	{"missing values", "value,zone\n1,a\nNaN,a\n,b\nNA,b\nnull,b\n-,a\nn/a,b\n2,a\n3,a\n,\n", frame.Choice{}},
	{"few missing values", "value\n" + strings.Repeat("1\n", 20) + "nan\n", frame.Choice{}},
	{"missing times", "value,time\n1,2026-01-01\n2,\n3,NA\n4,2026-01-02\n", frame.Choice{}},
	{"negative, exponents, zero", "value\n-1\n0\n-0\n1e-3\n+5\n", frame.Choice{}},
	{"Unix milliseconds, doubled", "timestamp,latency\n1767225600123,1\n1767225600123,2\n1767225601123,3\n", frame.Choice{}},
	{"mixed forms of times", "time,latency\n1767225600,1\n2026-01-01T00:00:01Z,2\n2026-01-01 00:00:02,3\n", frame.Choice{}},
	{"elapsed seconds", "start,latency\n0,1\n10,2\n", frame.Choice{Time: "start"}},
	{"time is the value", "node,time\na,12.5\nb,13\n", frame.Choice{}},
	{"summer begins", "time,value\n2026-03-29 01:30:00,1\n2026-03-29 02:30:00,2\n2026-03-29 03:30:00,3\n", frame.Choice{Zone: "Europe/Berlin"}},
	{"summer ends", "time,value\n2026-10-25 01:30:00,1\n2026-10-25 02:30:00,2\n2026-10-25 02:40:00,3\n2026-10-25 03:30:00,4\n", frame.Choice{Zone: "Europe/Berlin"}},
	{"local times in UTC", "time,value\n2026-10-25 02:30:00,2\n2026-10-25 02:30:00.5,3\n", frame.Choice{}},
	{"chosen, in other letters", "A Value,b value,when,zone\n1,5,2026-01-01,x\n2,6,2026-01-02,y\n", frame.Choice{Value: "B VALUE", By: []string{"zone", "a_value"}}},
	{"a number is a fact if chosen", "value,port\n1,80\n2,443\n3,8080\n4,22\n", frame.Choice{By: []string{"port"}}},
	{"numbers that are no fact", "value,port,trial\n1,80,1\n2,443,1\n3,8080,2\n4,22,2\n", frame.Choice{}},
	{"several times", "started,ended,value\n2026-01-01,2026-01-02,4\n", frame.Choice{}},
	{"long", "workload,metric,phase,unit,better,value,time,node\ndisk,read_rate,serial,MB/s,higher,100,2026-01-01T00:00:00Z,a\ndisk,read_rate,parallel,MB/s,higher,50,2026-01-01T00:01:00Z,a\n" +
		"disk,read_rate,serial,kB/s,higher,90500,2026-01-01T00:00:05Z,b\ncpu,score,serial,,higher,7,2026-01-01T00:00:00Z,a\ncpu,score,serial,,higher,NaN,2026-01-01T00:00:00Z,b\n", frame.Choice{}},
	{"long, ms and s", "metric,unit,value\nlatency,ms,5\nlatency,s,0.0123\nload,,1\n", frame.Choice{}},
	{"long, all of one missing", "metric,value\na,1\nb,NA\nb,\n", frame.Choice{}},
	{"export", "run,workload,phase,trial,node,task,attempt,outcome,counted,started,ended,metric,labels,unit,better,value,resource,info,disturbed\n" +
		"R,ub,serial,1,n1,t1,1,done,true,2026-01-01T00:00:00Z,2026-01-01T00:00:09Z,score,test=pipe,points,higher,10,,false,\n" +
		"R,ub,serial,1,n1,t1,1,done,true,2026-01-01T00:00:00Z,2026-01-01T00:00:09Z,score,test=file,points,higher,20,,false,\n" +
		"R,ub,serial,1,n2,t2,1,failed,false,2026-01-01T00:00:10Z,2026-01-01T00:00:19Z,score,test=file,points,higher,1,,false,\n" +
		"R,ub,serial,1,n2,t2,2,done,true,2026-01-01T00:00:20Z,2026-01-01T00:00:29Z,latency,,ms,lower,3,,true,steal\n", frame.Choice{}},

	{"decimal commas", "Zone A;Prozessor;value\nx;a;1,5\nx;b;-2,25\ny;b;3\n", frame.Choice{By: []string{"zone a", "Prozessor"}}},
	{"decimal commas, three digits", "score\tzone\n1,500\tx\n0,250\ty\n", frame.Choice{}},
	{"days with dots", "Zeit;value\n20.03.2026 00:00;1\n20.03.2026 00:30;2\n", frame.Choice{}},
	{"days with slashes", "when,value\n03/04/2026,1\n13/04/2026,2\n", frame.Choice{}},
	{"Unix seconds in a column of another name", "stamp,score\n1767225600,1\n1767225601,2\n1767225602,3\n", frame.Choice{Value: "score"}},
	{"epoch", "epoch,score\n1767225600,1\n1767225601,2\n", frame.Choice{}},
	{"beside", "runtime\n1\n2\n", frame.Choice{Time: "at", By: []string{"zone"}, Beside: true}},
	{"thousands", "value;x\n1.234,5;a\n1,5;a\n", frame.Choice{}},
	{"thousands in English", "value\n\"1,234.5\"\n\"12,345\"\n950\n\"1,234,567\"\n", frame.Choice{}},
	{"thousands with spaces and apostrophes", "value;x\n1\u00a0234,5;a\n12'345,25;a\n950;b\n", frame.Choice{}},
	{"points that may be either", "Dauer;Zeit\n1.050;2026-04-03\n2.150;2026-04-04\n", frame.Choice{}},
	{"refused: points that hardly are decimal", "Dauer;Zeit\n1.050;2026-04-03\n950;2026-04-04\n", frame.Choice{}},
	{"decimal commas in quotes", "time,latency\n2026-04-03 00:00,\"5,1\"\n2026-04-03 00:30,\"5,3\"\n", frame.Choice{}},
	{"decimal commas and exponents", "Zeit;Dauer\n2026-04-03 00:00;3,07E-03\n2026-04-03 01:00;0,00136\n",
		frame.Choice{}},
	{"a comma in the name, decimal commas", "Zeit;Dauer, roh\n2026-04-03;1,5\n2026-04-04;2,5\n", frame.Choice{}},
	{"sep=", "\ufeffsep=;\r\ntime;latency\r\n2026-04-03 00:00;5,1\r\n2026-04-03 00:30;5,3\r\n", frame.Choice{}},
	{"units in cells", "time,latency\n2026-04-03 00:00,982 ms\n2026-04-03 00:30,1.03 s\n2026-04-03 01:00,\n",
		frame.Choice{}},
	{"units in cells and in the name", "latency (s)\n982ms\n1.03 s\n", frame.Choice{}},
	{"a unit that is not known", "fps\n60 frames\n58.5 frames\n", frame.Choice{}},
	{"percent", "busy;host\n22,5 %;a\n23%;b\n", frame.Choice{}},
	{"sizes of machines are facts", "memory,points\n8 GB,5\n16 GB,6\n8 GB,7\n16 GB,8\n", frame.Choice{}},
	{"refused: units that do not convert", "latency\n982 ms\n5 MB\n", frame.Choice{}},
	{"refused: a cell without its unit", "latency\n982 ms\n980 ms\n990\n1 s\n", frame.Choice{}},
	{"refused: units twice", "latency,unit\n982 ms,ms\n980 ms,ms\n", frame.Choice{}},
	{"cells that begin with #",
		"label,latency\n#2 checkout,218.7\nhome,96.7\n\"#2 checkout\",203.2\nhome,100.7\n# the end\n", frame.Choice{}},
	{"a comment with quotes, one column", "# it's 5\" wide\nlatency\n5\n# warm\n6\n", frame.Choice{}},
	{"names in a comment", "# db1\n#time;value\n2026-04-03 12:00;5,5\n2026-04-03 12:01;6\n", frame.Choice{}},
	{"names and rows behind #", "#label,latency\n#2 checkout,5.5 ms\n#3,6 ms\nhome,7 ms\n", frame.Choice{}},
	{"names that are shares", "label,50%,99%\na,5,6\nb,7,8\n", frame.Choice{Value: "99%"}},
	{"refused: no names, and units", "home,5.5 ms\nhome,7 ms\n", frame.Choice{}},
	{"one column with decimal commas", "Dauer\n3,5\n4,25\n", frame.Choice{}},
	{"refused: a time of day among few values", "id,Dauer2\nx,1.5\ny,12:30\nz,2\n", frame.Choice{}},
	{"a comment that is none", "# made by hand\ntime,value\n2026-04-03 12:00,5\n", frame.Choice{}},
	{"refused: names below the first line",
		"db1;-1;2026-04-03 00:00:12 UTC\n# hostname;interval;%user\ndb1;600;19.68\n", frame.Choice{}},
	{"refused: one bad cell", "id,Dauer2\n" + strings.Repeat("x,1.5\n", 298) + "y,ERR\n", frame.Choice{}},
	{"refused: one bad cell of few", "id,Dauer2\nx,1.5\ny,ERR\nz,2\n", frame.Choice{}},
	{"refused: one bad time", "when2,value\n" + strings.Repeat("2026-04-03 12:00,1.5\n", 20) + "noon,2\n",
		frame.Choice{}},
	{"refused: a bad cell beside another column", "ms2,cores\n" + strings.Repeat("1.5,4\n", 20) + "ERR,4\n",
		frame.Choice{}},
	{"refused: spaces between cells", "time value\n1 5\n2 6\n", frame.Choice{}},
	{"refused: carriage returns", "value\r1\r2\r", frame.Choice{}},
	{"month first", "when,value\n04/03/2026 1:00 PM,1\n04/13/2026 12:30 AM,2\n", frame.Choice{}},
	{"years first, with slashes", "time,value\n2026/4/3 12:00,1\n2026/04/03 12:01:02.5,2\n", frame.Choice{}},
	{"days and times of day", "date,time,value\n2026-04-03,9:00:00,1\n2026-04-03,10:00:00,2\n2026-04-04,,3\n",
		frame.Choice{}},
	{"a sentinel", "value\n5\n-999\n6\n", frame.Choice{}},
	{"refused: a date against the order",
		"when,value\n13/04/2026,1\n" + strings.Repeat("12/04/2026,1\n", 1200) + "04/13/2026,2\n", frame.Choice{}},
	{"long, of pandas", "zone,variable,value\na,latency,5\nb,latency,6\na,rate,7\nb,rate,8\n", frame.Choice{}},
	{"long, of InfluxDB",
		"#group,false\n#datatype,string\n,_time,_value,_field,_measurement\n,2026-04-03T00:00:00Z,5,used,mem\n,2026-04-03T00:00:00Z,6,free,mem\n,2026-04-03T00:01:00Z,7,used,mem\n,2026-04-03T00:01:00Z,8,free,mem\n", frame.Choice{}},
	{"long, benchmarks and tests", "benchmark,test,value\na,x,5\na,y,6\na,x,7\na,y,8\n", frame.Choice{}},
	{"a metric as fact", "metric_name,value\na,5\nb,6\na,7\nb,8\n", frame.Choice{Facts: []string{"Metric_Name"}}},
	{"names of rows are no metrics", "name,value\na,5\nb,6\nc,7\n", frame.Choice{}},
	{"numbers of tests are no metrics", "test,value\n1,5\n2,6\n1,7\n2,8\n", frame.Choice{}},
	{"JSON lines",
		"{\"node\":\"#1\",\"value\":5.25,\"ok\":true}\n{\"value\":6e-3,\"node\":\"b, \\\"c\\\"\",\"x\":[1]}\n{\"node\":null,\"value\":null}\n", frame.Choice{}},
	{"JSON in a list",
		"[{\"time\":\"2026-04-03T00:00:00Z\",\"latency\":\"5 ms\"},\n{\"time\":\"2026-04-03T00:01:00Z\",\"latency\":\"1 s\"}]\n", frame.Choice{}},
	{"hyperfine",
		"{\"results\":[{\"command\":\"sort a\",\"mean\":0.15,\"times\":[0.1,0.2],\"exit_codes\":[0,0],\"parameters\":{\"n\":\"3\"}},{\"command\":\"sort b\",\"times\":[1.5]}]}", frame.Choice{}},
	{"Google Benchmark",
		"{\"context\":{\"cpus\":4},\"benchmarks\":[{\"name\":\"A\",\"real_time\":5},{\"name\":\"A\",\"real_time\":6}]}",
		frame.Choice{}},
	{"refused: JSON of lists", "[[1,2],[3,4]]", frame.Choice{}},
	{"refused: a late key", strings.Repeat("{\"value\":1}\n", 1001) + "{\"value\":1,\"other\":2}\n", frame.Choice{}},
	{"refused: a value of JSON", "{\"value\":1}\n{\"value\":\"x\"}\n", frame.Choice{}},
	{"refused: broken JSON", "{\"value\":1}\n{\"value\":2,}\n", frame.Choice{}},
	{"refused: cut JSON", "{\"value\":1}\n{\"value\":", frame.Choice{}},
	{"refused: nested JSON", "{\"data\":{\"value\":1}}\n", frame.Choice{}},
	{"refused: thousands or decimals", "value;x\n1,234;a\n2,345;a\n", frame.Choice{}},
	{"refused: points and commas", "value;x\n1.5;a\n2,5;a\n", frame.Choice{}},
	{"refused: a point after commas", "value;x\n1,5;a\n" + strings.Repeat("2,5;a\n", 1000) + "1.234;a\n", frame.Choice{}},
	{"refused: a column of texts", "region,score\n" + strings.Repeat("eu,1\n", 60), frame.Choice{Value: "region"}},
	{"refused: time with slashes", "when,value\n03/04/2026,1\n", frame.Choice{Time: "when"}},
	{"refused: Unix seconds or values", "stamp,points\n1767225600,1\n1767225601,2\n", frame.Choice{}},
	{"refused: empty", "", frame.Choice{}},
	{"refused: only comments", "# nothing\n\n", frame.Choice{}},
	{"copies of rows", "time,value\n2026-04-03 12:00,1.25\n2026-04-03 12:30,1.5\n2026-04-03 12:00,1.25\n", frame.Choice{}},
	{"refused: header only", "value\n", frame.Choice{}},
	{"refused: header only, without a column of values", "time,x\n", frame.Choice{}},
	{"refused: a quotation mark in the first row", "n,x\n1,\"abc\n2,def\n", frame.Choice{}},
	{"refused: no header", "1.5,a\n2,b\n", frame.Choice{}},
	{"refused: all missing", "value\nNA\n", frame.Choice{}},
	{"refused: texts", "node,value\na,1\nb,x\nü,\"1,5\"\nc,12 ms\n", frame.Choice{}},
	{"refused: infinities", "value\n1\ninf\n-Infinity\n1e999\n", frame.Choice{}},
	{"times as texts", "time,value\n31 Jan 2026 12:00,1\n31 Jan 2026 13:00,2\n", frame.Choice{}},
	{"a time of zero", "time,value\n0,1\n1767225600,2\n1767225660,3\n", frame.Choice{}},
	{"refused: times in nanoseconds from the beginning", "time,value\n0,1\n5000000000,2\n10000000000,3\n", frame.Choice{}},
	{"refused: too large", "value\n1\n1e300\n", frame.Choice{}},
	{"refused: too small", "value\n0\n-1e-200\n", frame.Choice{}},
	{"refused: too large in the unit", "metric,unit,value\nt,ns,1\nt,s,1e145\n", frame.Choice{}},
	{"refused: ragged", "a,value\n1,2\n3\n1,2,3\n", frame.Choice{}},
	{"refused: bad time", "time,value\n2026-01-01,1\n2026-02-30,2\n", frame.Choice{}},
	{"refused: quotes", "a,value\nx,1\ny\"z,2\nü,3\n", frame.Choice{}},
	{"refused: quotes in the header", "a\"b,value\nx,1\n", frame.Choice{}},
	{"refused: not UTF-8", "value\n1\n\xff\n", frame.Choice{}},
	{"refused: UTF-16 without a mark", "v\x00\n\x00", frame.Choice{}},
	{"refused: twice", "value,Value\n1,2\n", frame.Choice{}},
	{"refused: unknown columns", "zone,score,time\na,1,2026-01-01\n", frame.Choice{Value: "scor", Time: "when", By: []string{"zones"}}},
	{"refused: ambiguous values", "node,read,write\na,1.5,2.5\n", frame.Choice{}},
	{"refused: ambiguous times", "created,updated,value\n2026-01-01,2026-01-01,1\n", frame.Choice{}},
	{"refused: no numbers", "node,zone\na,b\n", frame.Choice{}},
	{"refused: mixed units", "metric,unit,value\nrate,MB/s,5\nrate,MB/s,6\nrate,ms,7\n", frame.Choice{}},
	{"refused: unknown better", "metric,better,value\nrate,up,5\n", frame.Choice{}},
	{"refused: both are better", "metric,better,value\nrate,higher,5\nrate,lower,5\n", frame.Choice{}},
	{"refused: zone", "value\n1\n", frame.Choice{Zone: "Berlin"}},
	{"refused: many", "value\n" + strings.Repeat("x\n", 200), frame.Choice{}},
}

// TestRead: tables of all kinds. What is refused is the user's, and says where.
func TestRead(t *testing.T) {
	var b strings.Builder
	for _, c := range tables {
		frames, told, err := Read(context.Background(), "t.csv", strings.NewReader(c.text), c.choice, Limits{})
		fmt.Fprintf(&b, "== %s\n%s", c.name, outline(frames, told))
		if refused := strings.HasPrefix(c.name, "refused"); refused != errors.Is(err, model.ErrUsage) || refused != (err != nil) {
			t.Errorf("%s: %v", c.name, err)
		}
		if err != nil {
			fmt.Fprintf(&b, "%v\n", err)
		}
	}
	golden.Check(t, "testdata/tables.golden", b.String())
}

func stamp(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }

// TestManyNodes: nodes with numbers for names are nodes, however many; a column of
// as many other numbers is no fact.
func TestManyNodes(t *testing.T) {
	var b strings.Builder
	b.WriteString("node,port,value\n")
	for i := range 400 {
		fmt.Fprintf(&b, "%d,%d,%d\n", i%90, i%90, 100+i%7)
	}
	frames, _, err := Read(t.Context(), "t.csv", strings.NewReader(b.String()), frame.Choice{Value: "value"}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if frames[0].Fact("node") == nil || frames[0].Fact("port") != nil {
		t.Errorf("facts: %v, want node alone", frames[0].Facts)
	}
}

// TestOncePerMetric: a repetition that measured each metric once has a number of its
// own, and is a fact nevertheless; a column that counts the rows is none.
func TestOncePerMetric(t *testing.T) {
	for _, c := range []struct {
		name string
		of   int // how many repetitions measured the second metric
		row  bool
		want bool
	}{
		{"all have both", 100, false, true},
		{"few have both", 20, false, true},
		{"one metric", 0, false, false},
		{"rows counted", 100, true, false},
	} {
		var b strings.Builder
		b.WriteString("repetition,metric,value\n")
		for i := range 100 {
			fmt.Fprintf(&b, "%d,score,%d\n", i, 100+i%7)
		}
		for i := range c.of {
			if c.row {
				i += 100
			}
			fmt.Fprintf(&b, "%d,latency,%d\n", i, 10+i%5)
		}
		frames, _, err := Read(t.Context(), "t.csv", strings.NewReader(b.String()), frame.Choice{Value: "value"}, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range frames {
			if got := f.Fact(frame.FactRepetition) != nil; got != c.want {
				t.Errorf("%s: %s: a fact: %t, want %t", c.name, f.Metric, got, c.want)
			}
		}
	}
}

// TestFirstTimesFar: a column of times is one however late its first cell is.
func TestFirstTimesFar(t *testing.T) {
	for _, rows := range []int{150, 1500, 300_000} {
		text := "value,time\n" + strings.Repeat("1.25,\n", rows) + "2,2026-04-03 12:00\n3,2026-04-03 13:00\n"
		frames, _, err := Read(t.Context(), "t.csv", strings.NewReader(text), frame.Choice{}, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if f := frames[0]; len(f.Times) != 2 || stamp(f.Times[0]) != "2026-04-03T12:00:00Z" ||
			f.Doubts[0].Code != "missing_times" {
			t.Errorf("after %d rows without: times %v, doubts %v, want two times and missing_times", rows, f.Times,
				f.Doubts)
		}
	}
}

// TestMonthsFar: which of day and month is first, one late date shows.
func TestMonthsFar(t *testing.T) {
	text := "when,value\n" + strings.Repeat("03/04/2026 10:00,1\n", 5000) + "03/31/2026 10:00,2\n"
	frames, _, err := Read(t.Context(), "t.csv", strings.NewReader(text), frame.Choice{}, Limits{})
	if err != nil || len(frames[0].Times) != 5001 || stamp(frames[0].Times[0]) != "2026-03-04T10:00:00Z" {
		t.Errorf("%v, times %v, want the 4th of March first", err, len(frames))
	}
}

// TestManyColumns: a table has as many as a spreadsheet; more are refused before they
// take memory. Only so many are facts.
func TestManyColumns(t *testing.T) {
	for columns, want := range map[int]string{3_000_001: "t.csv:1:1: there are 3,000,001 columns; give at most 16,384",
		3000: ""} {
		text := "value" + strings.Repeat(",", columns-1) + "\n"
		if columns == 3000 {
			text = "value"
			for i := range columns - 1 {
				text += fmt.Sprintf(",c%d", i)
			}
			text += "\n1" + strings.Repeat(",x", columns-1) + "\n2" + strings.Repeat(",y", columns-1) + "\n"
		}
		frames, _, err := Read(t.Context(), "t.csv", strings.NewReader(text), frame.Choice{}, Limits{})
		if got := said(err); got != want || err == nil && len(frames[0].Facts) != mostFacts {
			t.Errorf("%d columns: %q, want %q and %d facts", columns, got, want, mostFacts)
		}
	}
}
