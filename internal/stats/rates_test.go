package stats

import (
	"encoding/csv"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rates compares simulated rates (how often an interval holds the truth, how
// often bands are found) with those stored in testdata/rates.csv, on which
// docs/methods.md rests. The table is made of many more runs by
//
//	go test ./internal/stats -run 'TestBandsFound|TestTwoSampleRates|TestPairedRates' -update
type rates struct {
	t      *testing.T
	kind   string
	stored map[string]float64
}

const ratesFile = "testdata/rates.csv"

// openRates reads the rows of one kind. Where the file is updated, it is written
// anew with this kind's rows when the test ends.
func openRates(t *testing.T, kind string) *rates {
	t.Helper()
	r := &rates{t: t, kind: kind, stored: map[string]float64{}}
	rows := readRates(t)
	for _, row := range rows {
		if row[0] == kind {
			v, err := strconv.ParseFloat(row[2], 64)
			if err != nil {
				t.Fatal(err)
			}
			r.stored[row[1]] = v
		}
	}
	if *update {
		r.stored = map[string]float64{}
		t.Cleanup(func() { r.write(rows) })
	}
	return r
}

func readRates(t *testing.T) [][]string {
	t.Helper()
	file, err := os.Open(ratesFile)
	if os.IsNotExist(err) && *update {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // read only
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// compare simulates few runs and holds the rate to the stored one; with -update
// it simulates many and stores theirs.
func (r *rates) compare(key string, few, many int, simulate func(runs int) float64) {
	r.t.Helper()
	if *update {
		r.stored[key] = simulate(many)
		return
	}
	want, ok := r.stored[key]
	if !ok {
		r.t.Fatalf("%s has no row for %s; run with -update", ratesFile, key)
	}
	if few > 0 {
		near(r.t, key, simulate(few), want, float64(few))
	}
}

func (r *rates) write(rows [][]string) {
	rows = slices.DeleteFunc(rows, func(row []string) bool { return row[0] == r.kind })
	for key, rate := range r.stored {
		rows = append(rows, []string{r.kind, key, strconv.FormatFloat(rate, 'f', 4, 64)})
	}
	slices.SortFunc(rows, func(a, b []string) int { return strings.Compare(a[0]+a[1], b[0]+b[1]) })
	file, err := os.Create(ratesFile)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := csv.NewWriter(file).WriteAll(rows); err != nil {
		r.t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		r.t.Fatal(err)
	}
}
