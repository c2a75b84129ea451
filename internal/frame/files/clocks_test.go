package files

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/scalebench/scalebench/internal/frame"
)

// packedRows is a Parquet file of these rows, in groups of so many.
func packedRows[T any](t *testing.T, rows []T, group int64) *bytes.Reader {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, parquet.MaxRowsPerRowGroup(group))
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(b.Bytes())
}

// TestTimesOfDay: dates and times of day in two columns are one time, in Parquet as in
// CSV. Beside whole times, a column of times of day is a fact.
func TestTimesOfDay(t *testing.T) {
	type dated struct {
		D     int32   `parquet:"d,date"`
		Clock *string `parquet:"clock,optional"`
		Score float64 `parquet:"score"`
	}
	type texts struct {
		D     string  `parquet:"d"`
		Clock string  `parquet:"clock"`
		Score float64 `parquet:"score"`
	}
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 2))
		var csv strings.Builder
		csv.WriteString("d,clock,score\n")
		var days []dated
		var words []texts
		n := 20 + rng.IntN(200)
		layout := []string{"15:04:05", "15:04", "15:04:05.000"}[seed%3]
		for i := range n {
			at := time.Date(2026, 5, 1+rng.IntN(40), rng.IntN(24), rng.IntN(60), rng.IntN(60), 0, time.UTC)
			date, clock, score := at.Format(time.DateOnly), at.Format(layout), float64(i)
			fmt.Fprintf(&csv, "%s,%s,%v\n", date, clock, score)
			days = append(days, dated{int32(at.Unix() / 86400), &clock, score})
			words = append(words, texts{date, clock, score})
		}
		choice := frame.Choice{Value: "score", Zone: []string{"UTC", "Europe/Berlin"}[seed%2]}
		want, _, err := Read(t.Context(), "x", strings.NewReader(csv.String()), choice, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for name, in := range map[string]*bytes.Reader{
			"days":  packedRows(t, days, int64(10+rng.IntN(n))),
			"texts": packedRows(t, words, int64(10+rng.IntN(n))),
		} {
			got, told, err := Read(t.Context(), "x", in, choice, Limits{})
			if d := diff.Diff(want, got); err != nil || d != "" {
				t.Errorf("%s, %v, %v (-CSV +Parquet):\n%s", name, told, err, d)
			}
		}
		days[3].Clock = nil // not known
		got, told, err := Read(t.Context(), "x", packedRows(t, days, 1000), choice, Limits{})
		if err != nil || got[0].Len() != n-1 {
			t.Errorf("a time of day is missing: %v, %v; want %d rows", told, err, n-1)
		}
	}
}

// TestNoTimesOfDay: where times are whole, or some texts are no times of day, nothing is said of
// times of day, and the column is a fact.
func TestNoTimesOfDay(t *testing.T) {
	type stamped struct {
		At    time.Time `parquet:"at,timestamp(millisecond)"`
		Shift string    `parquet:"shift"`
		Score float64   `parquet:"score"`
	}
	type dated struct {
		D     int32   `parquet:"d,date"`
		Shift string  `parquet:"shift"`
		Score float64 `parquet:"score"`
	}
	var rows []stamped
	var days []dated
	for i := range 40 {
		at := time.Date(2026, 4, 3, 0, 7*i, 0, 0, time.UTC)
		rows = append(rows, stamped{at, []string{"12:30", "14:00"}[i%2], float64(i)})
		days = append(days, dated{int32(20546 + i), []string{"12:30", "night"}[i%2], float64(i)})
	}
	for name, in := range map[string]*bytes.Reader{"whole times": packedRows(t, rows, 100), "texts": packedRows(t, days, 100)} {
		frames, told, err := Read(t.Context(), "x", in, frame.Choice{Value: "score"}, Limits{})
		if err != nil || frames[0].Fact("shift") == nil || strings.Contains(strings.Join(told, "; "), "times of day") {
			t.Errorf("%s: %+v, told %q, %v; want the fact shift", name, frames, told, err)
		}
	}
}
