package telemetry

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // as the program has it

	"github.com/scalebench/scalebench/internal/model"
)

// ends are moments at which summer time ended, and by how many minutes clocks went back.
var ends = []struct {
	zone string
	at   time.Time
	back float64
}{
	{"Europe/Berlin", time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC), 60},
	{"America/New_York", time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC), 60},
	{"Australia/Lord_Howe", time.Date(2026, 4, 4, 15, 0, 0, 0, time.UTC), 30},
}

// TestRepeatedHour draws rows with times of a clock that shows an hour twice, on odd grids and with
// gaps in that hour. No row is lost or counted twice. Without gaps all times are right. With gaps
// they are right, or marked and at most as far off as the clock went back.
func TestRepeatedHour(t *testing.T) {
	guessed := 0
	for seed := range uint64(600) {
		rng := rand.New(rand.NewPCG(seed, 18))
		end := ends[rng.IntN(len(ends))]
		zone, err := time.LoadLocation(end.zone)
		if err != nil {
			t.Fatal(err)
		}
		period := []float64{1, 5, 7, 13, 30, 60}[rng.IntN(6)] * 60
		from := float64(end.at.Unix()) - 6*3600 + math.Floor(rng.Float64()*period)
		gaps, lost := rng.IntN(2) == 0, 0
		var rows []string
		var want []float64
		for at := from; at < from+12*3600; at += period {
			if lost > 0 {
				lost--
				continue
			}
			if gaps && math.Abs(at-float64(end.at.Unix())) < 5400 && rng.IntN(6) == 0 {
				lost = rng.IntN(4)
				continue
			}
			want = append(want, at)
			rows = append(rows, fmt.Sprintf("%s,%d", time.Unix(int64(at), 0).In(zone).Format(time.DateTime), len(want)))
		}
		opt := Options{Zone: zone, Period: time.Duration(period * 1e9)}
		if rng.IntN(2) == 0 {
			slices.Reverse(rows) // newest first
		}
		text := "time,ops\n" + strings.Join(rows, "\n") + "\n"
		r := read(t, text, opt)[0]
		marked := count(r, "clock_repeats")
		guessed += min(marked, 1)
		if len(r.End) != len(want) {
			t.Fatalf("seed %d: %d periods, want %d\n%v\n%s", seed, len(r.End), len(want), r.Remarks, text)
		}
		for i, at := range r.End {
			off := math.Abs(at - want[i])
			if r.Rates[Ops][i] != float64(i+1) || off > 0 && marked == 0 || off > end.back*60 {
				t.Fatalf("seed %d: row %v is %v s off, marked %d\n%s", seed, r.Rates[Ops][i], off, marked, text)
			}
		}
		if !gaps && marked > 0 && period < end.back*60 {
			t.Fatalf("seed %d: there is no gap, and %d are marked\n%s", seed, marked, text)
		}
		if rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] }); period > 300 {
			continue
		}
		_, err = Read(t.Context(), "f", strings.NewReader("time,ops\n"+strings.Join(rows, "\n")+"\n"), opt)
		if !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), "f:2:1: times of f in an hour that the clock") {
			t.Fatalf("seed %d: rows in no order: %v", seed, err)
		}
	}
	if guessed == 0 || guessed > 200 {
		t.Errorf("%d of 600 are guessed", guessed)
	}
}

// TestRepeatedHourElsewhere: the same of /proc/diskstats and of iostat.
func TestRepeatedHourElsewhere(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	disks, iostat := "", "Linux 6.18 (vm) \t10/25/26 \t_x86_64_\t(2 CPU)\n\n\n"
	for i := range 26 {
		at := ends[0].at.Add(time.Duration(i-13) * 7 * time.Minute).In(zone)
		disks += fmt.Sprintf("%s\n 254 0 vda %d 0 0 0 0 0 0 0 0 0 0\n", at.Format(time.DateTime), 420*i)
		iostat += fmt.Sprintf("%s\nDevice r/s rkB/s\nvda 1.00 0.00\n\n", at.Format("01/02/06 15:04:05"))
	}
	for name, text := range map[string]string{"diskstats": disks, "iostat": iostat} {
		r := read(t, text, Options{Zone: zone})[0]
		n := len(r.End)
		if n < 25 || len(r.Remarks) > 0 || r.End[n-1]-r.Begin[0] != float64(n)*420 || total(r, ReadOps) != float64(n)*420 {
			t.Errorf("%s: %d periods, %v", name, n, r)
		}
	}
}

// TestNumerals: how tables write numbers.
func TestNumerals(t *testing.T) {
	for text, want := range map[string]Numbers{
		"time;ops\n1;1.234,5\n2;2,25\n":             {1234.5, 2.25},
		"time;ops\n1;1.234.567\n2;12.345,678\n":     {1234567, 12345.678},
		"time;ops\n1;1.234\n2;0.5\n":                {1.234, .5}, // a point is a decimal one
		"time;ops\n1;1,234\n2;0,5\n":                {1.234, .5},
		"time,ops\n1,1.234\n2,2.345\n":              {1.234, 2.345},
		"time\tops\n1\t1,5\n2\t1.234,5\n":           {1.5, 1234.5},
		"time,ops\n45000.5,1\n45001.5,2\n45002.5,3": {1, 2, 3}, // seconds since the system was booted
	} {
		if got := read(t, text+"\n", Options{})[0].Rates[Ops]; !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
