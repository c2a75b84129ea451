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
