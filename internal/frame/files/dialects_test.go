package files

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	diff "github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/frame"
)

// dialect is how a table is written. test/otherfiles draws more, and holds them to pandas.
type dialect struct {
	comma, decimal, thousands, end, before, encoding, unit, time string
	quoted, hash                                                 bool
}

// times are layouts that a table of several days makes clear.
var timeLayouts = []string{
	"2006-01-02 15:04:05", time.RFC3339, "02.01.2006 15:04:05", "2006/01/02 15:04:05", "02/01/2006 15:04:05",
	"01/02/2006 03:04:05 PM",
	time.RFC1123, time.ANSIC, "02/Jan/2006:15:04:05 +0000", "Jan 2, 2006 15:04:05", "20060102T150405Z",
	"2 January 2006 15:04:05",
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func drawDialect(r *rand.Rand) dialect {
	d := dialect{
		comma: pick(r, ",", ",", ";", "\t", "|"), decimal: pick(r, ".", ","), end: pick(r, "\n", "\r\n"),
		encoding: pick(r, "", "", "mark", "16", "16be"),
		before:   pick(r, "", "", "# made, by \"hand;\n\n", "sep", "#"), unit: pick(r, "", "", " ms", "%"),
		time: pick(r, timeLayouts...), quoted: r.IntN(3) == 0, hash: r.IntN(3) == 0,
	}
	if d.thousands = pick(r, "", "", ",", ".", " ", "\u00a0", "'"); d.thousands == d.decimal {
		d.thousands = ""
	}
	return d
}

// number writes a value of two decimals.
func (d dialect) number(v int) string {
	whole := fmt.Sprint(v / 100)
	for at := len(whole) - 3; at > 0 && d.thousands != ""; at -= 3 {
		whole = whole[:at] + d.thousands + whole[at:]
	}
	return fmt.Sprintf("%s%s%02d%s", whole, d.decimal, v%100, d.unit)
}

// cell writes a cell, in quotation marks where it must be or all are.
func (d dialect) cell(text string) string {
	if d.quoted || strings.Contains(text, d.comma) {
		return `"` + text + `"`
	}
	return text
}

func (d dialect) table(values []int, times []time.Time) string {
	var b strings.Builder
	switch d.before {
	case "sep":
		b.WriteString("sep=" + d.comma + d.end)
	default:
		b.WriteString(d.before)
	}
	b.WriteString(strings.Join([]string{"label", "when", "latency"}, d.comma) + d.end)
	for i, v := range values {
		label := "home"
		if d.hash && i%2 == 0 {
			label = "#2 checkout"
		}
		b.WriteString(d.cell(label) + d.comma + d.cell(times[i].Format(d.time)) + d.comma + d.cell(d.number(v)) + d.end)
	}
	return d.encoded(b.String())
}

func (d dialect) encoded(text string) string {
	switch d.encoding {
	case "mark":
		return "\ufeff" + text
	case "16", "16be":
		var b strings.Builder
		for _, u := range utf16.Encode([]rune("\ufeff" + text)) {
			high, low := byte(u>>8), byte(u)
			if d.encoding == "16" {
				high, low = low, high
			}
			b.Write([]byte{high, low})
		}
		return b.String()
	}
	return text
}

// TestDialects: tables in dialects drawn at random have the values and times that were
// written.
func TestDialects(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 11))
	for range 400 {
		d := drawDialect(r)
		var values []int
		var times []time.Time
		var want []float64
		var wantTimes []string
		start := time.Date(2026, time.Month(1+r.IntN(12)), 1+r.IntN(12), r.IntN(24), r.IntN(60), r.IntN(60), 0,
			time.UTC)
		scale := pick(r, 300, 40_000, 900_000, 200_000_000)
		for i := range 40 {
			v := 1 + r.IntN(scale)
			values, want = append(values, v), append(want, float64(v)/100)
			times = append(times, start.Add(time.Duration(i)*17*time.Hour))
			wantTimes = append(wantTimes, times[i].Format(time.RFC3339))
		}
		text := d.table(values, times)
		frames, _, err := Read(t.Context(), "t.csv", strings.NewReader(text), frame.Choice{}, Limits{})
		if err != nil || len(frames) != 1 {
			t.Errorf("%+v: %v, %d frames\n%.300s", d, err, len(frames), text)
			continue
		}
		var got []string
		for _, at := range frames[0].Times {
			got = append(got, stamp(at))
		}
		if d1 := diff.Diff(want, frames[0].Values) + diff.Diff(wantTimes, got); d1 != "" {
			t.Errorf("%+v (-written +read):\n%s\n%.300s", d, d1, text)
		}
	}
}
