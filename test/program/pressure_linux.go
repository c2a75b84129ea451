package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/study/pressure"
)

// PressedVolume is a lab's volume that fio loads.
type PressedVolume struct {
	*Installation
	LabVolume
	lab    LabMade
	device string
	other  string             // the device of another host, which nothing loads
	limits map[string]float64 // by levels.Level.Name; both ways of each
}

// Press makes a lab with such a volume, until the test ends.
func (w *Installation) Press(v LabVolume) *PressedVolume {
	w.T.Helper()
	file := fmt.Sprintf(`fleet:
  lab: {nodes: 2, volumes: [{name: data, type: raw, size: 128MiB, iops: %d, bandwidth: %dKiB/s}]}
workloads: [{kind: command, command: "true"}]
`, v.IOPS, v.KiB)
	p := &PressedVolume{Installation: w, LabVolume: v, lab: w.MakeLab(w.Write("press.yaml", file)),
		limits: map[string]float64{}}
	p.device, p.other = filepath.Base(p.lab.Hosts[0].Paths["data"]), filepath.Base(p.lab.Hosts[1].Paths["data"])
	for _, way := range []string{"read", "write"} {
		p.limits["ops."+way], p.limits["bytes."+way] = float64(v.IOPS), float64(v.KiB)*1024
	}
	return p
}

// Down removes the lab.
func (p *PressedVolume) Down() { p.Run("lab", "down", p.lab.ID) }

// Limit sets one limit, such as ops.read.
func (p *PressedVolume) Limit(name string, to float64) error {
	quality, way, _ := strings.Cut(name, ".")
	what := map[string]string{"ops": "iops", "bytes": "bps"}[quality]
	number, err := os.ReadFile("/sys/block/" + p.device + "/dev")
	if err != nil {
		return err
	}
	dev, value := strings.TrimSpace(string(number)), strconv.FormatFloat(math.Round(to), 'f', -1, 64)
	for _, dir := range CgroupsOf(p.lab.ID) {
		for file, text := range map[string]string{"blkio.throttle." + way + "_" + what + "_device": dev + " " + value,
			"io.max": dev + " " + way[:1] + what + "=" + value} {
			if f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0); err == nil {
				_, err = f.WriteString(text)
				p.limits[name] = math.Round(to)
				return errors.Join(err, f.Close())
			}
		}
	}
	return fmt.Errorf("no cgroup of lab %s limits devices", p.lab.ID)
}

// Model is a file of the volume's limits as they are now.
func (p *PressedVolume) Model() string {
	text := "model: pressed\nlimits:\n"
	for _, way := range []string{"read", "write"} {
		text += fmt.Sprintf("- {of: ops, ways: [%s], unit: 256KiB, unmerged: true, rate: %.0f}\n- {of: bytes, ways: [%s], "+
			"rate: %.0f}\n", way,
			p.limits["ops."+way], way, p.limits["bytes."+way])
	}
	return p.Write("pressed.yaml", text)
}

// FioLoad is a load of operations of so many KiB. Rates are operations a second of reads
// and writes; both 0: as many as the volume gives, of which the share Reads are reads.
type FioLoad struct {
	KiB         int
	Read, Write float64
	Reads       int // percent
}

// pressSettle is how long a load lasts before its counters are read.
const pressSettle = 1500 * time.Millisecond

func (l FioLoad) args(device string, runtime time.Duration) []string {
	all := []string{"fio", "--filename=/dev/" + device, "--direct=1", "--ioengine=libaio", "--iodepth=32",
		"--size=64MiB", "--randrepeat=0",
		"--time_based", fmt.Sprintf("--runtime=%dms", runtime.Milliseconds()), fmt.Sprintf("--bs=%dk", l.KiB)}
	for _, job := range []struct {
		way  string
		rate float64
	}{{"read", l.Read}, {"write", l.Write}} {
		if job.rate > 0 {
			all = append(all, "--name="+job.way, "--rw=rand"+job.way, fmt.Sprintf("--rate_iops=%.0f", job.rate))
		}
	}
	if l.Read+l.Write == 0 {
		all = append(all, "--name=mix", "--rw=randrw", fmt.Sprintf("--rwmixread=%d", l.Reads))
	}
	return all
}

// Start begins a load, which the test waits for.
func (p *PressedVolume) Start(l FioLoad, runtime time.Duration) *exec.Cmd {
	args := append([]string{"lab", "exec", "--lab", p.lab.ID, p.lab.Hosts[0].Name, "--"}, l.args(p.device, runtime)...)
	cmd := exec.Command(p.Bin, args...)
	cmd.Env = p.Env()
	return cmd
}

// Record loads the volume, and records its counters each second in a file of
// /proc/diskstats; ops is how many operations a second there were.
func (p *PressedVolume) Record(l FioLoad, seconds int) (file string, ops float64, err error) {
	cmd := p.Start(l, pressSettle+time.Duration(seconds)*time.Second+300*time.Millisecond)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return "", 0, err
	}
	var text strings.Builder
	var first, last float64
	began := time.Now()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	<-time.After(pressSettle)
	for i := range seconds + 1 {
		if i > 0 {
			<-tick.C
		} else {
			tick.Reset(time.Second)
		}
		counters, err := p.counters()
		if err != nil {
			return "", 0, errors.Join(err, cmd.Wait())
		}
		now := float64(time.Now().UnixMicro()) / 1e6
		fmt.Fprintf(&text, "%.6f %s\n", now, strings.Join(counters, " "))
		reads, _ := strconv.ParseFloat(counters[0], 64)
		writes, _ := strconv.ParseFloat(counters[4], 64)
		if last = reads + writes; i == 0 {
			first, began = last, time.UnixMicro(int64(now*1e6))
		}
		ops = (last - first) / (now - float64(began.UnixMicro())/1e6)
	}
	if err := cmd.Wait(); err != nil {
		return "", 0, fmt.Errorf("fio: %w: %s", err, said.String())
	}
	return p.Write("data.txt", text.String()), ops, nil
}

// counters are the numbers of the device in /proc/diskstats.
func (p *PressedVolume) counters() ([]string, error) {
	text, err := os.ReadFile("/proc/diskstats")
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 3 && f[2] == p.device {
			return f[3:], nil
		}
	}
	return nil, fmt.Errorf("/proc/diskstats has no %s: %w", p.device, err)
}

// Pressures are those parts of a result that are judged.
type Pressures struct {
	Services []struct {
		Node, Source, Quality string
		SLP                   struct{ Mean float64 }
	}
	Advice []pressure.Advised
	Raised []pressure.Raised
}

// Pressure asks the program how close the volume came to its limits. args say the model.
func (p *PressedVolume) Pressure(file string, args ...string) (r Pressures, err error) {
	out, stderr, err := p.Try(append([]string{"servicelevel", "pressure", file, "--format", "json"}, args...)...)
	if err != nil {
		return r, fmt.Errorf("%w: %s", err, stderr)
	}
	return r, json.Unmarshal([]byte(out), &r)
}

// Lab are the arguments for the model of a lab's volume.
func (p *PressedVolume) Lab() []string {
	return []string{"--model", "lab", "--set", fmt.Sprintf("iops=%d", p.IOPS), "--set",
		fmt.Sprintf("bandwidth=%dKiB/s", p.KiB)}
}

// Truth is the pressure of each limit by arithmetic.
func (v LabVolume) Truth(l FioLoad) map[string]float64 {
	out := map[string]float64{}
	for way, rate := range map[string]float64{"read": l.Read, "write": l.Write} {
		is := min(math.Round(rate), v.Each(l.KiB))
		out["ops."+way], out["bytes."+way] = is/float64(v.IOPS), is*float64(l.KiB)/float64(v.KiB)
	}
	return out
}

// binding are the limits within 5 % of the highest pressure.
func binding(truth map[string]float64) (names []string) {
	most := 0.
	for _, x := range truth {
		most = max(most, x)
	}
	for name, x := range truth {
		if x >= .95*most {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// DrawLoad draws rates of .3 to 1.3 times what the volume gives. Pressures are not so close
// that 2 % decide which of them bind.
func (v LabVolume) DrawLoad(rng *rand.Rand, kib int, read, write bool) FioLoad {
	for {
		l := FioLoad{KiB: kib}
		if read {
			l.Read = math.Round(v.Each(kib) * (.3 + rng.Float64()))
		}
		if write {
			l.Write = math.Round(v.Each(kib) * (.3 + rng.Float64()))
		}
		truth, most := v.Truth(l), 0.
		for _, x := range truth {
			most = max(most, x)
		}
		clear := true
		for _, x := range truth {
			clear = clear && (x < .925*most || x > .975*most)
		}
		if clear {
			return l
		}
	}
}

// JudgeLoad loads the volume, and holds the program's pressures to arithmetic: within 2 %, or a slice of a throttle,
// with the limits named that bind.
func (p *PressedVolume) JudgeLoad(l FioLoad, seconds int) error {
	file, _, err := p.Record(l, seconds)
	if err != nil {
		return err
	}
	r, err := p.Pressure(file, p.Lab()...)
	if err != nil {
		return err
	}
	truth := p.Truth(l)
	within := .02
	if max(l.Read, l.Write) >= p.Each(l.KiB) { // the kernel allows a slice of a tenth of a second more or less
		within = max(within, .11/float64(seconds))
	}
	var wrong, named []string
	for _, s := range r.Services {
		want := truth[s.Quality]
		p.T.Logf("%+v, iops %d, %d KiB/s: %s %.4f, arithmetic %.4f", l, p.IOPS, p.KiB, s.Quality, s.SLP.Mean, want)
		if math.Abs(s.SLP.Mean-want) > within*want {
			wrong = append(wrong, fmt.Sprintf("%s %.4f, want %.4f", s.Quality, s.SLP.Mean, want))
		}
	}
	for _, a := range r.Advice {
		if a.Action == pressure.ActionRaise || a.Action == pressure.ActionHeadroom {
			named = append(named, a.Quality)
		}
	}
	slices.Sort(named)
	if want := binding(truth); !slices.Equal(named, want) || len(r.Services) != len(truth) {
		wrong = append(wrong, fmt.Sprintf("%v are named, want %v; %d limits", named, want, len(r.Services)))
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%+v on %d operations and %d KiB a second: %s", l, p.IOPS, p.KiB, strings.Join(wrong, "; "))
	}
	return nil
}

// JudgeAgents is JudgeChange on a server with two agents. Each offers a volume of its own, of
// which one is loaded.
func (p *PressedVolume) JudgeAgents() error {
	if p.Server == nil {
		p.StartServer()
		p.StartAgent("db-1", "--volume", "data=/dev/"+p.device)
		p.StartAgent("db-2", "--volume", "log=/dev/"+p.other)
		p.AwaitNodes(2)
	}
	return p.judgeChange("--node", "db-*")
}

// JudgeChange changes a throttle while `servicelevel watch` looks: it must show that within
// two seconds.
func (p *PressedVolume) JudgeChange() error { return p.judgeChange("--volume", "data=/dev/"+p.device) }

// judgeChange is JudgeChange where watch is told where to look. A volume called log is idle.
func (p *PressedVolume) judgeChange(where ...string) (err error) {
	const runtime = 7 * time.Second
	fio := p.Start(FioLoad{KiB: 4, Reads: 100}, runtime)
	if err := fio.Start(); err != nil {
		return err
	}
	watch := exec.Command(p.Bin, slices.Concat([]string{"servicelevel", "watch", "--for", "7s", "--format", "json"}, where,
		p.Lab())...)
	watch.Env, watch.Stderr = p.Env(), os.Stderr
	out, err := watch.StdoutPipe()
	if err == nil {
		err = watch.Start()
	}
	if err != nil {
		return errors.Join(err, fio.Wait())
	}
	defer func() {
		_ = watch.Process.Kill() // it has said what it should
		_ = watch.Wait()
		err = errors.Join(err, fio.Wait(), p.Limit("ops.read", float64(p.IOPS)))
	}()
	in, steady := json.NewDecoder(out), 0
	var changed time.Time
	for {
		var m pressure.Moment
		if err := in.Decode(&m); err != nil {
			return fmt.Errorf("reading what watch says: %w", err)
		}
		if m.Service == "log" && m.SLP > .01 {
			return fmt.Errorf("a pressure of %.3f of a volume that nothing loads", m.SLP)
		}
		if m.Service != "data" || m.Quality != "ops.read" {
			continue
		}
		p.T.Logf("watch: %.3f at %s on %s", m.SLP, m.Time.Format("05.000"), m.Node)
		switch took := time.Since(changed); {
		case changed.IsZero():
			if steady++; math.Abs(m.SLP-1) > .15 { // a slice of a tenth of a second more or less
				steady = 0
			}
			if steady == 2 {
				if err := p.Limit("ops.read", 2*float64(p.IOPS)); err != nil {
					return err
				}
				changed = time.Now()
			}
		case took > 2*time.Second:
			return fmt.Errorf("a pressure of %.3f, %v after the limit was doubled", m.SLP, took)
		case m.SLP > 1.25:
			p.T.Logf("seen after %v", took)
			return nil
		}
	}
}

// JudgeRaise saturates the volume, raises what the advice says, and holds the growth to
// what was said: at most so much (2 % are those of the measurement), and 80 % of it at least;
// then the limit binds that was named.
func (p *PressedVolume) JudgeRaise(l FioLoad, seconds int) error {
	file, before, err := p.Record(l, seconds)
	if err != nil {
		return err
	}
	r, err := p.Pressure(file, p.Lab()...)
	if err != nil {
		return err
	}
	if len(r.Advice) == 0 || r.Advice[0].To == nil || r.Advice[0].Action != pressure.ActionRaise {
		return fmt.Errorf("%+v on %d operations and %d KiB a second: advice %+v, want a raise", l, p.IOPS, p.KiB, r.Advice)
	}
	said := r.Advice[0]
	for _, a := range r.Advice {
		if a.Action == pressure.ActionRaise {
			// The inputs of the lab's model are limits of both ways.
			quality, _, _ := strings.Cut(a.Quality, ".")
			for _, way := range []string{".read", ".write"} {
				if err := p.Limit(quality+way, *a.To); err != nil {
					return err
				}
			}
		}
	}
	file, after, err := p.Record(l, seconds)
	if err != nil {
		return err
	}
	if r, err = p.Pressure(file, "--model", p.Model()); err != nil {
		return err
	}
	growth, next := after/before, len(r.Advice) > 0 && slices.ContainsFunc(said.Next, func(n pressure.LimitOf) bool {
		return slices.ContainsFunc(r.Advice,
			func(a pressure.Advised) bool { return a.AtLeast && a.Quality == n.Quality }) // it holds back now
	})
	p.T.Logf("%+v on %d operations and %d KiB a second: %s from %g to %g, growth %.3f of %.3f; then %v", l, p.IOPS,
		p.KiB, said.Quality, said.From,
		*said.To, growth, said.Growth.Value, said.Next)
	if growth > 1.02*said.Growth.Value || growth < .8*said.Growth.Value || !next {
		return fmt.Errorf("%+v: growth %.3f, said %.3f; then %v, said %v", l, growth, said.Growth.Value, r.Advice,
			said.Next)
	}
	return nil
}
