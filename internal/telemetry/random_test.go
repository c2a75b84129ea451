package telemetry

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// drawn is a service of which the truth is known.
type drawn struct {
	begin, end []float64
	rates      map[Measure]Numbers
}

func (d *drawn) add(begin, end float64, of map[Measure]float64) {
	r := Recording{Begin: d.begin, End: d.end, Rates: d.rates}
	r.add(begin, end, of)
	d.begin, d.end, d.rates = r.Begin, r.End, r.Rates
}

// same holds a recording to the truth.
func same(t *testing.T, got Recording, want drawn, tolerance float64, text string) {
	t.Helper()
	near := cmp.Options{cmpopts.EquateApprox(1e-9, tolerance), cmpopts.EquateNaNs()}
	if diff := cmp.Diff(want, drawn{got.Begin, got.End, got.Rates}, near, cmp.AllowUnexported(drawn{})); diff != "" {
		t.Fatalf("%s (-want +got):\n%s\nremarks %v\n%s", got.Service, diff, got.Remarks, text)
	}
}

func count(r Recording, code string) (n int) {
	for _, x := range r.Remarks {
		if string(x.Code) == code {
			n += x.Count
		}
	}
	return n
}

const start = 1795810557

// TestRandomDiskstats draws devices that wrap, are made anew, vanish and come back, and clocks
// that are set: each period has the rates that were drawn, and what cannot be known is a gap.
func TestRandomDiskstats(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var b strings.Builder
		var want drawn
		var raw [4]uint64   // reads, sectors read, writes, sectors written
		near := rng.IntN(2) // operations or sectors are about to wrap
		for i := range raw {
			if raw[i] = uint64(rng.IntN(1 << 30)); i%2 == near {
				raw[i] = 1<<32 - 1 - uint64(rng.IntN(1<<18))
			}
		}
		bits32, now, present := rng.IntN(2) == 0, float64(start), false
		wraps, resets, steps, backs := 0, 0, 0, 0
		wrapped, seen := false, false // since the last reading, of which there is one
		for i := range 40 {
			step := .8 + .4*rng.Float64()
			if i == 0 {
				step = 0
			}
			event, before := rng.IntN(12), raw
			back := event == 0 && i > 2
			if back {
				step = -30
			}
			at, was := math.Round((now+step)*1e6)/1e6, present
			step = at - now
			if back {
				backs++
			}
			of := map[Measure]float64{ReadMerges: 0, WriteMerges: 0}
			for k, m := range []Measure{ReadOps, ReadBytes, WriteOps, WriteBytes} {
				gain := uint64(rng.IntN(10_000))
				of[m] = float64(gain) / step * []float64{1, 512}[k%2]
				raw[k] += gain
				if bits32 && raw[k] >= 1<<32 {
					raw[k] -= 1 << 32
					wrapped = true
				}
			}
			reset := event == 1 && before[0] > 9 // the counters fall
			if reset {
				raw = [4]uint64{uint64(rng.IntN(9)), uint64(rng.IntN(99)), 0, uint64(rng.IntN(99))}
			}
			present = event != 2
			fmt.Fprintf(&b, "%.6f\n   7       0 loop0 1 0 8 0 0 0 0 0 0 0 0\n", at)
			if present {
				fmt.Fprintf(&b, " 254       0 vda %d 0 %d 1 %d 0 %d 2 0 3 4 5 6 7 8\n", raw[0], raw[1], raw[2], raw[3])
			}
			switch {
			case !present || !was:
				// One reading alone says nothing.
			case back:
				steps++
			case reset:
				resets++
			default:
				want.add(now, at, of)
			}
			if present && seen && wrapped && !reset {
				wraps++
			}
			seen = seen || present
			wrapped = wrapped && seen && !present && !reset
			now = at
		}
		got := read(t, b.String(), Options{})
		r := got[slices.IndexFunc(got, func(r Recording) bool { return r.Service == "vda" })]
		sorted, overlap := count(r, "sorted_times"), count(r, "overlap")
		if backs == 0 {
			same(t, r, want, 1e-6, b.String())
		} else if len(r.Begin)+overlap != len(want.begin) || sorted > backs {
			t.Fatalf("seed %d: %d periods, %d overlap, want %d", seed, len(r.Begin), overlap, len(want.begin))
		}
		if n := count(r, "reset"); n != resets {
			t.Fatalf("seed %d: %d resets, want %d\n%v", seed, n, resets, r.Remarks)
		}
		if n := count(r, "wrapped"); n != wraps {
			t.Fatalf("seed %d: %d wraps, want %d", seed, n, wraps)
		}
		if n := count(r, "clock_set"); n != steps {
			t.Fatalf("seed %d: clock set %d times, want %d", seed, n, steps)
		}
	}
}

// locales are how iostat writes times and decimals.
var locales = []struct{ date, layout, decimal string }{
	{"01/02/06", "01/02/06 15:04:05", "."},
	{"2006-01-02", "2006-01-02T15:04:05-0700", "."},
	{"02.01.2006", "02.01.2006 15:04:05", ","},
	{"01/02/2006", "01/02/2006 03:04:05 PM", "."},
	{"2006年01月02日", "2006年01月02日 15時04分05秒", "."},
}

// TestRandomIostat draws what iostat would print of known rates, in all locales, units and orders
// of columns, as text and JSON, with stamps cut to whole seconds.
func TestRandomIostat(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 2))
		locale := locales[rng.IntN(len(locales))]
		unit := []string{"kB", "MB", "sec"}[rng.IntN(3)]
		size := map[string]float64{"kB": 1 << 10, "MB": 1 << 20, "sec": 512}[unit]
		columns := []string{"r/s", "w/s", "r" + unit + "/s", "w" + unit + "/s", "rrqm/s", "%rrqm", "aqu-sz", "%util"}
		rng.Shuffle(len(columns), func(i, j int) { columns[i], columns[j] = columns[j], columns[i] })
		interval := float64(1 + rng.IntN(10))
		late := rng.Float64() * .002 // seconds that each report is late
		isText, omitted := rng.IntN(2) == 0, rng.IntN(2) == 0
		reports := 3 + rng.IntN(100)
		from := float64(start) + rng.Float64()
		date := time.Unix(start, 0).UTC().Format(locale.date)

		var text strings.Builder
		if isText {
			fmt.Fprintf(&text, "Linux 6.18.44 (db-1) \t%s \t_x86_64_\t(2 CPU)\n\n", date)
		} else {
			fmt.Fprintf(&text, "{\"sysstat\": {\"hosts\": [{\"nodename\": \"db-1\", \"date\": %q, \"statistics\": [\n", date)
		}
		if omitted {
			text.WriteString("\n")
		}
		devices := []string{"sda", "nvme0n1"}
		want := make([]drawn, len(devices))
		for i := range reports {
			at := from + float64(i+1)*(interval+late)
			stamp := time.Unix(int64(at), 0).UTC().Format(locale.layout)
			if isText {
				fmt.Fprintf(&text, "%s\navg-cpu:  %%user\n   1%s00\n\nDevice %s\n", stamp, locale.decimal,
					strings.Join(columns, " "))
			} else {
				fmt.Fprintf(&text, "%s{\"timestamp\": %q, \"disk\": [\n", map[bool]string{true: ","}[i > 0], stamp)
			}
			for k, device := range devices {
				of := make(map[Measure]float64)
				var cells []string
				for _, name := range columns {
					v := math.Round(rng.ExpFloat64()*1e5) / 100
					if isText {
						cells = append(cells, strings.Replace(fmt.Sprintf("%.2f", v), ".", locale.decimal, 1))
					} else {
						cells = append(cells, fmt.Sprintf("%q: %.2f", strings.TrimPrefix(name, "%"), v))
					}
					switch name {
					case "r/s":
						of[ReadOps] = v
					case "w/s":
						of[WriteOps] = v
					case "r" + unit + "/s":
						of[ReadBytes] = v * size
					case "w" + unit + "/s":
						of[WriteBytes] = v * size
					case "rrqm/s":
						of[ReadMerges] = v
					}
				}
				if isText {
					fmt.Fprintf(&text, "%-9s %s\n", device, strings.Join(cells, "  "))
				} else {
					fmt.Fprintf(&text, "%s{\"disk_device\": %q, %s}\n", map[bool]string{true: ","}[k > 0], device,
						strings.Join(cells, ", "))
				}
				if i > 0 || omitted {
					want[k].add(at-interval-late, at, of)
				}
			}
			if isText {
				text.WriteString("\n\n")
			} else {
				text.WriteString("]}\n")
			}
		}
		if !isText {
			text.WriteString("]}]}}\n")
		}
		got := read(t, text.String(), Options{})
		for k, device := range []string{"nvme0n1", "sda"} {
			r := got[k]
			if r.Service != device || r.Node != "db-1" {
				t.Fatalf("seed %d: %s of %s, want %s", seed, r.Service, r.Node, device)
			}
			truth := want[1-k]
			if n := len(r.Begin); n != len(truth.begin) {
				t.Fatalf("seed %d: %d periods, want %d\n%v\n%s", seed, n, len(truth.begin), r.Remarks, text.String())
			}
			for i := range r.Begin { // stamps are cut to a second; the lengths are not
				if math.Abs(r.End[i]-truth.end[i]) > 1.01 || math.Abs(r.End[i]-r.Begin[i]-interval) > 1/float64(reports-1)+.01 {
					t.Fatalf("seed %d: period %v to %v, want %v to %v", seed, r.Begin[i], r.End[i], truth.begin[i], truth.end[i])
				}
			}
			r.Begin, r.End = truth.begin, truth.end
			same(t, r, truth, 1e-9, text.String())
			if n := count(r, "since_boot"); (n == 0) != omitted {
				t.Fatalf("seed %d: since_boot %d, -y %v", seed, n, omitted)
			}
		}
	}
}

// TestRandomCSV draws tables of known rates in several dialects, with rows in any order, copies,
// empty cells and missing periods.
func TestRandomCSV(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 3))
		comma := []string{",", ";", "\t"}[rng.IntN(3)]
		step := []float64{1, 60, 300}[rng.IntN(3)]
		measures := []Measure{ReadOps, WriteOps, ReadBytes, WriteBytes, WriteMerges, Credits}
		if rng.IntN(2) == 0 {
			measures = []Measure{Ops, Bytes}
		}
		header := []string{"Time", "Volume"}
		for _, m := range measures {
			header = append(header, string(m))
		}
		var rows []string
		want := make(map[string]*drawn)
		for _, volume := range []string{"vol-1", "vol-2"} {
			d := &drawn{rates: make(map[Measure]Numbers)}
			want[volume] = d
			for i := range 30 {
				missing := rng.IntN(10) == 0
				if i == 1 || i == 2 {
					missing = false // the first steps are the usual ones
				}
				at := start + float64(i)*step
				of := make(map[Measure]float64)
				cells := []string{time.Unix(int64(at), 0).UTC().Format(time.RFC3339), volume}
				if comma == ";" {
					cells[0] = time.Unix(int64(at), 0).UTC().Format("02.01.2006 15:04:05")
				}
				for k, m := range measures {
					of[m] = math.Round(rng.Float64()*1e4) / 1e4
					cell := fmt.Sprintf("%.4f", of[m])
					if comma == ";" && m != Credits {
						cell = strings.Replace(cell, ".", ",", 1)
					}
					if k > 0 && rng.IntN(20) == 0 {
						of[m], cell = math.NaN(), []string{"", "NaN", "n/a", "null"}[rng.IntN(4)]
					}
					cells = append(cells, cell)
				}
				if missing {
					continue
				}
				rows = append(rows, strings.Join(cells, comma))
				if rng.IntN(20) == 0 {
					rows = append(rows, rows[len(rows)-1]) // a copy
				}
				d.add(at-step, at, of)
			}
		}
		rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		text := strings.Join(header, comma) + "\n" + strings.Join(rows, "\n") + "\n"
		// A gap of equal neighbours is taken for a longer period: give the length.
		for _, r := range read(t, text, Options{Period: time.Duration(step * 1e9)}) {
			same(t, r, *want[r.Service], 1e-9, text)
		}
	}
}

// TestBegins: when the periods of stamps begin.
func TestBegins(t *testing.T) {
	type times = []float64
	for name, c := range map[string]struct {
		ends   times
		period float64
		begin  times
	}{
		"even":         {times{10, 20, 30}, 0, times{0, 10, 20}},
		"a gap":        {times{10, 20, 50, 60}, 0, times{0, 10, 40, 50}},
		"late":         {times{10, 20, 34, 40, 50}, 0, times{0, 10, 20, 34, 40}},
		"thinned out":  {times{0, 50, 100, 110, 120, 130, 140}, 0, times{-50, 0, 50, 100, 110, 120, 130}},
		"given":        {times{10, 20, 50, 60}, 5, times{5, 15, 45, 55}},
		"given, alone": {times{10}, 5, times{5}},
		"given, long":  {times{10, 20}, 15, times{0, 10}},
		"alone":        {times{10}, 0, nil},
		"none":         {},
	} {
		begin, ok := begins(c.ends, c.period)
		if ok != (c.begin != nil) || !slices.Equal(begin, c.begin) {
			t.Errorf("%s: %v, %v, want %v", name, begin, ok, c.begin)
		}
	}
}

// TestOrder: periods of several parts come into order, and none overlaps.
func TestOrder(t *testing.T) {
	r := Recording{Begin: []float64{10, 20, 0, 5, 30, 40}, End: []float64{20, 30, 10, 15, 40, 50},
		Rates: map[Measure]Numbers{Ops: {1, 2, 3, 4, 5, math.NaN()}, Bytes: slices.Repeat(Numbers{math.NaN()}, 6)}}
	r.Settle()
	want := Recording{Begin: []float64{0, 10, 20, 30}, End: []float64{10, 20, 30, 40},
		Rates:   map[Measure]Numbers{Ops: {3, 1, 2, 5}},
		Remarks: []Remark{{Code: Sorted, Count: 1}, {Code: Overlap, Count: 1, At: 15}, {Code: Gap, Count: 1, At: 50}}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFromCounters: what of counters is a period, and what a gap.
func TestFromCounters(t *testing.T) {
	nan := math.NaN()
	got := FromCounters("vda", []float64{0, 1, 3, 4, 5, 6, 6, 7, 60}, map[Measure][]float64{
		Ops:   {0, 10, 30, 5, nan, 40, 50, 60, 70},
		Bytes: {nan, 100, 300, 400, nan, nan, 500, 600, 700},
	})
	want := Recording{Service: "vda", Begin: []float64{0, 1, 6}, End: []float64{1, 3, 7},
		Rates: map[Measure]Numbers{Ops: {10, 10, 10}, Bytes: {nan, 100, 100}},
		Remarks: []Remark{{Code: Reset, Count: 1, At: 4}, {Code: Gap, Count: 1, At: 5}, {Code: ClockSet, Count: 1, At: 6},
			{Code: Paused, Count: 1, At: 60}}}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
