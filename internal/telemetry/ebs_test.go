package telemetry

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// ebsText is what tools print of counters: nvme-cli as several lines, ebsnvme as one.
func ebsText(counters [8]int64, oneLine bool) string {
	instance, end := "ec2_instance", "\n"
	if oneLine {
		instance, end = "ec2_instance_ebs", " "
	}
	var b strings.Builder
	b.WriteString("{" + end)
	for i, name := range []string{"total_read_ops", "total_write_ops", "total_read_bytes", "total_write_bytes",
		"ebs_volume_performance_exceeded_iops", "ebs_volume_performance_exceeded_tp",
		instance + "_performance_exceeded_iops", instance + "_performance_exceeded_tp"} {
		fmt.Fprintf(&b, "  %q:%d,%s", name, counters[i], end)
	}
	b.WriteString("  \"volume_queue_length\":0," + end + "  \"read_io_latency_histogram\":{" + end +
		"    \"num_bins\":1, \"bins\":[{\"lower\":0, \"upper\":8, \"count\":3}]" + end + "  }" + end + "}\n")
	return b.String()
}

// TestRandomEBS draws volumes whose counters begin high, and once begin again at 0, as readings with
// times and as tools poll them.
func TestRandomEBS(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 5))
		oneLine, polls := rng.IntN(2) == 0, rng.IntN(2) == 0
		interval := float64(1 + rng.IntN(60))
		anew := rng.IntN(60) // the volume is attached anew
		now, counters, last := float64(start), [8]int64{1 << 40, 1 << 40, 1 << 50, 5, 1 << 40, 7, 0, 1 << 33}, [8]int64{}
		var want drawn
		var b strings.Builder
		if polls {
			fmt.Fprintf(&b, "Polling EBS stats every %.0f sec(s); press Ctrl+C to stop\n\n", interval)
			now = interval
		}
		for i := range 30 {
			before := now
			of := make(map[Measure]float64)
			if i > 0 {
				if now += interval; !polls {
					now = math.Round(1e3*now+float64(rng.IntN(1000))) / 1e3
				}
				for k, m := range []Measure{ReadOps, WriteOps, ReadBytes, WriteBytes, ExceededOps, ExceededBytes,
					NodeExceededOps, NodeExceededBytes} {
					gain, unit := rng.Int64N(1e6), 1.0
					if k >= 4 {
						unit = 1e-6
					}
					counters[k] += gain
					of[m] = float64(gain) * unit / (now - before)
				}
				if i == anew {
					counters = [8]int64{}
				} else {
					want.add(before, now, of)
				}
			}
			shown := counters
			for k := range shown {
				if polls {
					shown[k] -= last[k]
				}
			}
			if last = counters; !polls {
				fmt.Fprintf(&b, "%.3f\n", now)
			}
			b.WriteString(ebsText(shown, oneLine))
		}
		r := read(t, b.String(), Options{Service: "vol-1"})[0]
		same(t, r, want, 1e-6, b.String())
		if n := count(r, "reset"); (n == 1) != (anew > 0 && anew < 30) || (count(r, "no_stamps") > 0) != polls {
			t.Fatalf("seed %d: remarks %v, anew at %d", seed, r.Remarks, anew)
		}
	}
}

// TestEBSDetails: what C prints below 0, a share above 1, and a file that is cut.
func TestEBSDetails(t *testing.T) {
	text := "Polling NVMe stats every 1 sec(s); press Ctrl+C to stop\n\n" + ebsText([8]int64{9, 9, 9, 9}, true) +
		ebsText([8]int64{5, 5, 5, 5, 1_000_020}, true) +
		strings.Replace(ebsText([8]int64{3}, true), ":3,", ":18446744073709551612,", 1) + ebsText([8]int64{1}, true) + "{\n"
	r := read(t, text, Options{})[0]
	if len(r.Begin) != 2 || r.Rates[ExceededOps][0] != 1 || r.Rates[ReadOps][1] != 1 || count(r, "reset") != 1 ||
		count(r, "cut_file") != 1 {
		t.Errorf("%+v", r)
	}
	zeros := ebsText([8]int64{}, true)
	for name, c := range map[string]struct{ text, want string }{
		"no time":     {ebsText([8]int64{}, true), "f:1:1: the counters have no time; write a line with the time above"},
		"second":      {"1\n" + ebsText([8]int64{}, true) + ebsText([8]int64{}, true), "f:3:1: the counters have no time"},
		"bad time":    {"noon\n" + ebsText([8]int64{}, true), `f:1:1: "noon" is no time; write`},
		"no number":   {"1\n" + strings.Replace(zeros, ":0,", ":1.5,", 1), "f:2:1: total_read_ops is 1.5"},
		"broken":      {"1\n" + strings.Replace(zeros, ":0,", ":,", 1), "f:2:1: this is no JSON of an EBS"},
		"one reading": {"1\n" + ebsText([8]int64{}, false), "no period of the file can be used"},
	} {
		_, err := Read(t.Context(), "f", strings.NewReader(c.text), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func FuzzEBS(f *testing.F) {
	fuzz(f, "none", "1\n"+ebsText([8]int64{1}, true)+"2\n"+ebsText([8]int64{5}, false),
		"Polling every 1 sec\n"+ebsText([8]int64{}, true)+ebsText([8]int64{}, true))
}
