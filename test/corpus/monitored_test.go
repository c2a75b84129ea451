package corpus

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/truth/simulated"
)

// monitored is what monitoring recorded of a volume in periods of one length.
type monitored struct {
	node, volume string
	step         time.Duration
	rates        [][4]float64 // reads, writes, bytes of reads and of writes, each a second
}

// course is how a load goes: its share of the highest in a period.
type course func(rng *rand.Rand, i int) float64

func steady(rng *rand.Rand, _ int) float64 { return .4 + .1*rng.Float64() }

// clipped wants more than there is for most of the time.
func clipped(rng *rand.Rand, _ int) float64 { return min(1, .7+.6*rng.Float64()) }

// phases are four idle periods after each eight busy ones.
func phases(rng *rand.Rand, i int) float64 {
	if i%12 >= 8 {
		return 0
	}
	return .8 + .2*rng.Float64()
}

// growing reaches the highest load in the fortieth period.
func growing(rng *rand.Rand, i int) float64 {
	return min(1, float64(i+1)/40) * (.95 + .05*rng.Float64())
}

// loadOf is one of so many periods of a minute; most is the highest number of operations a
// second, size that of each in bytes, reads the share of reads.
func loadOf(seed uint64, name string, most, size, reads float64, of course) monitored {
	node, volume, ok := strings.Cut(name, "/")
	if !ok {
		node, volume = "", name
	}
	rng := seeded(seed)
	out := monitored{node: node, volume: volume, step: time.Minute}
	const periods = 40
	for i := range periods {
		n := most * of(rng, i)
		r, w := math.Round(n*reads), math.Round(n*(1-reads))
		out.rates = append(out.rates, [4]float64{r, w, r * size, w * size})
	}
	return out
}

// eachSecond is the load in periods of a second.
func (m monitored) eachSecond() monitored {
	m.step = time.Second
	return m
}

// began is when recordings begin.
func began() time.Time { return time.Date(2026, 11, 27, 8, 0, 0, 0, time.UTC) }

// end is when a period ends.
func (m monitored) end(i int) time.Time { return began().Add(time.Duration(i+1) * m.step) }

// rateTable is a table of loads. Of the columns, ops and bytes are sums of both ways.
func rateTable(columns string, all ...monitored) file {
	t := csvTable{header: "time,node,volume," + columns}
	for _, m := range all {
		for i, x := range m.rates {
			cells := []any{m.end(i), m.node, m.volume}
			of := map[string]float64{"read_ops": x[0], "write_ops": x[1], "read_bytes": x[2], "write_bytes": x[3],
				"ops": x[0] + x[1], "bytes": x[2] + x[3]}
			for c := range strings.SplitSeq(columns, ",") {
				cells = append(cells, fmt.Sprintf("%.0f", of[c]))
			}
			t.add(cells...)
		}
	}
	return file{"disks.csv", t.String()}
}

// disks is a table with all columns.
func disks(all ...monitored) file {
	return rateTable("read_ops,write_ops,read_bytes,write_bytes", all...)
}

// iostatJSON is what iostat -o JSON prints of volumes of one node.
func iostatJSON(all ...monitored) file {
	var reports []any
	for i := range all[0].rates {
		var of []any
		for _, m := range all {
			x := m.rates[i]
			of = append(of, map[string]any{"disk_device": m.volume, "r/s": x[0], "w/s": x[1], "rkB/s": x[2] / 1024,
				"wkB/s": x[3] / 1024, "rrqm/s": 0, "wrqm/s": math.Round(x[1] / 10), "util": 50})
		}
		reports = append(reports, map[string]any{"timestamp": all[0].end(i).Format("2006-01-02T15:04:05-0700"), "disk": of})
	}
	host := map[string]any{"nodename": all[0].node, "date": "2026-11-27", "statistics": reports}
	text, _ := json.Marshal(map[string]any{"sysstat": map[string]any{"hosts": []any{host}}}) // it is of plain values
	return file{"iostat.json", string(text)}
}

// iostatText is what iostat -x prints of them; where the locale has a decimal comma, comma
// is true.
func iostatText(comma bool, all ...monitored) file {
	var b strings.Builder
	stamp := "01/02/2006 03:04:05 PM"
	if comma {
		stamp = "02.01.2006 15:04:05"
	}
	fmt.Fprintf(&b, "Linux 6.18.44 (%s) \t%s \t_x86_64_\t(2 CPU)\n\n", all[0].node,
		began().Format(strings.Fields(stamp)[0]))
	for i := range all[0].rates {
		rows := "Device r/s rkB/s rrqm/s w/s wkB/s wrqm/s %util\n"
		for _, m := range all {
			x := m.rates[i]
			rows += fmt.Sprintf("%s %.2f %.2f 0.00 %.2f %.2f %.2f 50.00\n", m.volume, x[0], x[2]/1024, x[1], x[3]/1024, x[1]/10)
		}
		if comma {
			rows = strings.ReplaceAll(rows, ".", ",")
		}
		fmt.Fprintf(&b, "\n%s\n%s\n", all[0].end(i).Format(stamp), rows)
	}
	return file{"iostat.txt", b.String()}
}

// diskstats are recordings of /proc/diskstats: blocks of all volumes below their time.
// Counters begin at start, and have 32 bits.
func diskstats(start float64, all ...monitored) file {
	var b strings.Builder
	counts := make([][4]float64, len(all))
	count := func(n float64) float64 { return math.Mod(math.Round(start+n), 1<<32) }
	for i := range len(all[0].rates) + 1 {
		fmt.Fprintf(&b, "%d.250000000\n", began().Add(time.Duration(i)*all[0].step).Unix())
		for k, m := range all {
			c := &counts[k]
			fmt.Fprintf(&b, " 8 %d %s %.0f 0 %.0f 0 %.0f %.0f %.0f 0 0 0 0 0 0 0 0\n", 16*k, m.volume, count(c[0]),
				count(c[2]/512), count(c[1]), c[1]/10, count(c[3]/512))
			if i < len(m.rates) {
				for w, rate := range m.rates[i] {
					c[w] += rate * m.step.Seconds()
				}
			}
		}
	}
	return file{"diskstats.txt", b.String()}
}

// monitoredRun is a run of one step for each list of loads, one task a load, with what the
// monitor recorded.
func monitoredRun(steps ...[]monitored) model.RunData {
	nodes := make(map[string]int)
	for _, of := range steps {
		for _, m := range of {
			if _, ok := nodes[m.node]; !ok {
				nodes[m.node] = len(nodes)
			}
		}
	}
	b := simulated.New(len(nodes))
	for trial, of := range steps {
		var results []model.Result
		for _, m := range of {
			seconds := m.step.Seconds() * float64(len(m.rates))
			r := b.Reported(nodes[m.node], 0, seconds, m.rates[len(m.rates)-1][0]+float64(trial))
			r.Host = m.counters()
			results = append(results, r)
		}
		b.Step(model.Parallel, trial+1, results...)
	}
	return stored(b.Data, 90, "measured", 0)
}

// counters are the host series of a load: of a volume, or of the network (reads are
// received) and the processor (operations are hundredths of a second).
func (m monitored) counters() (out []model.HostSeries) {
	prefix := "volume." + m.volume + "."
	names := [4]string{prefix + "reads", prefix + "writes", prefix + "read_bytes", prefix + "write_bytes"}
	if m.volume == "network" {
		names = [4]string{"cpu.user", "cpu.system", "net.rx_bytes", "net.tx_bytes"}
	}
	for way, name := range names {
		s := model.HostSeries{Metric: name, Counter: true, Offsets: []int64{0}, Values: []float64{0}}
		for i, x := range m.rates {
			rate := x[way]
			if strings.HasPrefix(name, "cpu.") {
				rate /= 100
			}
			s.Offsets = append(s.Offsets, int64(i+1)*m.step.Nanoseconds())
			s.Values = append(s.Values, s.Values[i]+rate*m.step.Seconds())
		}
		out = append(out, s)
	}
	return out
}
