package tabular

import (
	"math"
	"strings"
	"testing"
)

// TestCells: cells by their kind, and what is said of others.
func TestCells(t *testing.T) {
	read := map[string]func(*Reader) float64{
		"amount": func(t *Reader) float64 { return t.Amount("value", false) },
		"needed": func(t *Reader) float64 { return t.Amount("value", true) },
		"share":  func(t *Reader) float64 { return t.Share("value", 1.1, ", of all") },
		"whole":  func(t *Reader) float64 { return float64(t.Whole("value", 7)) },
	}
	for _, c := range []struct {
		kind, cell string
		want       float64
		refused    string
	}{
		{"amount", "", math.NaN(), ""},
		{"amount", "0", 0, ""},
		{"amount", "1e15", 1e15, ""},
		{"amount", "1e-15", 1e-15, ""},
		{"amount", "1.1e15", 0, `value is "1.1e15"; use 0, or a number from 1e-15 to 1e15`},
		{"amount", "1e-300", 0, `value is "1e-300"; use 0, or a number from 1e-15 to 1e15`},
		{"amount", "1e999", 0, `value is "1e999"; use a number of 0 or more`},
		{"amount", "-1", 0, `value is "-1"; use a number of 0 or more`},
		{"amount", "2,5", 0, `value is "2,5"; use a number of 0 or more, with a decimal point and without commas`},
		{"amount", "1,000,000", 0, `value is "1,000,000"; use a number of 0 or more`},
		{"needed", "", 0, "value is empty; use a number of 0 or more"},
		{"needed", "2.5", 2.5, ""},
		{"share", "", math.NaN(), ""},
		{"share", "110 %", 1.1, ""},
		{"share", ".5", .5, ""},
		{"share", "1.11", 0, `value is "1.11"; use a share such as 0.85 or 85%, of all`},
		{"share", "1e-300", 0, `value is "1e-300"; use a share such as 0.85 or 85%, of all`},
		{"share", "-1%", 0, `value is "-1%"; use a share`},
		{"share", "85,5%", 0, `of all, with a decimal point and without commas`},
		{"whole", "", 7, ""},
		{"whole", "12", 12, ""},
		{"whole", "0", 0, `value is "0"; use a whole number of 1 or more`},
		{"whole", "1.5", 0, `value is "1.5"; use a whole number of 1 or more`},
	} {
		r, err := Open("t.csv", strings.NewReader("node;value\na;"+c.cell+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Use(pair, allowed); err != nil || !r.Next() {
			t.Fatalf("%q: %v", c.cell, err)
		}
		got := read[c.kind](r)
		switch err := r.Err(); {
		case c.refused != "":
			if err == nil || !strings.HasPrefix(err.Error(), "t.csv:2:3: ") || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s of %q: %v, want %s", c.kind, c.cell, err, c.refused)
			}
		case err != nil || got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)):
			t.Errorf("%s of %q = %v, %v, want %v", c.kind, c.cell, got, err, c.want)
		}
	}
}
