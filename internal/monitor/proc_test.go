package monitor

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// collect returns what a parser emits of a text; a metric that comes twice
// fails the test.
func collect(t *testing.T, parse func([]byte, emit), text string) map[string]float64 {
	t.Helper()
	got := map[string]float64{}
	parse([]byte(text), func(metric string, value float64) {
		if _, ok := got[metric]; ok {
			t.Errorf("%s was emitted twice", metric)
		}
		got[metric] = value
	})
	return got
}

type parserCase struct {
	name  string
	parse func([]byte, emit)
	text  string
	want  map[string]float64
}

var kernelCases = []parserCase{
	{
		name: "stat of 6.18, two cores", parse: parseStat,
		text: `cpu  759189 90346 191675 1379844 8595 0 3844 660 0 0
cpu0 375849 44339 91686 701692 2205 0 916 332 0 0
cpu1 383339 46007 99989 678152 6389 0 2928 327 0 0
intr 33100663 0 0 0 14 0 2352095
ctxt 47113622
btime 1785000000
processes 912340
procs_running 3
procs_blocked 1
softirq 7743306 0 1543871 12 2
`,
		want: map[string]float64{
			"cpu.user": 7591.89, "cpu.nice": 903.46, "cpu.system": 1916.75, "cpu.idle": 13798.44, "cpu.iowait": 85.95,
			"cpu.irq": 0, "cpu.softirq": 38.44, "cpu.steal": 6.6, "cpu.guest": 0, "cpu.cores": 2,
			"sched.interrupts": 33100663, "sched.switches": 47113622, "sched.forks": 912340, "sched.running": 3, "sched.blocked": 1,
		},
	},
	{
		name: "stat of 5.4 on a host of virtual machines", parse: parseStat,
		text: "cpu  1000 300 50 9000 10 1 2 3 600 200\ncpu0 1000 300 50 9000 10 1 2 3 600 200\n",
		want: map[string]float64{
			"cpu.user": 4, "cpu.nice": 1, "cpu.system": 0.5, "cpu.idle": 90, "cpu.iowait": 0.1,
			"cpu.irq": 0.01, "cpu.softirq": 0.02, "cpu.steal": 0.03, "cpu.guest": 8, "cpu.cores": 1,
		},
	},
	{
		name: "stat of 2.6.18 without guests", parse: parseStat,
		text: "cpu  100 0 50 9000 10 1 2 3\ncpu0 100 0 50 9000 10 1 2 3\nintr 5 4\nctxt 99\n",
		want: map[string]float64{
			"cpu.user": 1, "cpu.nice": 0, "cpu.system": 0.5, "cpu.idle": 90, "cpu.iowait": 0.1,
			"cpu.irq": 0.01, "cpu.softirq": 0.02, "cpu.steal": 0.03, "cpu.cores": 1,
			"sched.interrupts": 5, "sched.switches": 99,
		},
	},
	{name: "stat, damaged", parse: parseStat, text: "cpu  x 1 2\nctxt\nprocesses 1e3\nprocs_running 99999999999999999999\n", want: map[string]float64{}},
	{
		name: "meminfo of 4.15", parse: parseMeminfo,
		text: `MemTotal:        8167848 kB
MemFree:          239624 kB
MemAvailable:    5741564 kB
Buffers:          524288 kB
Cached:          1048576 kB
SwapCached:            0 kB
Dirty:               444 kB
Writeback:             4 kB
WritebackTmp:          0 kB
SwapTotal:       2097148 kB
SwapFree:        2097140 kB
HugePages_Total:       0
`,
		want: map[string]float64{
			"memory.total": 8167848 * 1024, "memory.free": 239624 * 1024, "memory.available": 5741564 * 1024,
			"memory.cached": 1572864 * 1024, "memory.dirty": 444 * 1024, "memory.writeback": 4 * 1024, "memory.swap_used": 8 * 1024,
		},
	},
	{
		name: "meminfo of 3.10 without available", parse: parseMeminfo,
		text: "MemTotal: 100 kB\nMemFree: 50 kB\n",
		want: map[string]float64{"memory.total": 102400, "memory.free": 51200},
	},
	{
		name: "vmstat of 6.18", parse: vmstatParser(4096),
		text: "nr_free_pages 12\npswpin 3\npswpout 5\npgfault 1000\npgmajfault 17\noom_kill 1\n",
		want: map[string]float64{"memory.swap_in": 12288, "memory.swap_out": 20480, "memory.major_faults": 17, "memory.oom_kills": 1},
	},
	{
		name: "vmstat of 4.9 with pages of 64 KiB", parse: vmstatParser(65536),
		text: "pswpin 1\npswpout 0\npgmajfault 2\n",
		want: map[string]float64{"memory.swap_in": 65536, "memory.swap_out": 0, "memory.major_faults": 2},
	},
	{
		name: "pressure/memory", parse: pressureParser("psi.memory_some", "psi.memory_full"),
		text: "some avg10=0.18 avg60=1.62 avg300=1.43 total=126845036\nfull avg10=0.13 avg60=1.19 avg300=1.10 total=61443968\n",
		want: map[string]float64{"psi.memory_some": 126.845036, "psi.memory_full": 61.443968},
	},
	{
		name: "pressure/cpu, its full means nothing", parse: pressureParser("psi.cpu_some", ""),
		text: "some avg10=4.03 avg60=7.19 avg300=7.13 total=2920587223\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
		want: map[string]float64{"psi.cpu_some": 2920.587223},
	},
	{name: "pressure, damaged", parse: pressureParser("a", "b"), text: "some total=\nfull total=x\nsome\n", want: map[string]float64{}},
	{
		name: "snmp of 6.18", parse: parseSNMP,
		text: `Ip: Forwarding DefaultTTL InReceives
Ip: 1 64 3723949
Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors
Tcp: 1 200 120000 -1 55916 52052 3762 1407 12 3762476 3750335 4495 0 4972 0
Udp: InDatagrams
Udp: 3588
`,
		want: map[string]float64{"tcp.established": 12, "tcp.segments_out": 3750335, "tcp.retransmits": 4495},
	},
	{name: "snmp, values missing", parse: parseSNMP, text: "Tcp: RtoMin CurrEstab OutSegs\nTcp: 200 7\n", want: map[string]float64{"tcp.established": 7}},
	{name: "cpu.stat of version 2", parse: parseStat2,
		text: "usage_usec 1500000\nuser_usec 1000000\nsystem_usec 500000\nnr_periods 10\nnr_throttled 2\nthrottled_usec 250000\n",
		want: map[string]float64{"cgroup.cpu": 1.5, "cgroup.cpu_throttled": 0.25}},
	{name: "cpu.stat of version 2 without the controller", parse: parseStat2,
		text: "usage_usec 1500000\nuser_usec 1000000\n", want: map[string]float64{"cgroup.cpu": 1.5}},
	{name: "cpu.stat of version 1", parse: parseStat1,
		text: "nr_periods 10\nnr_throttled 2\nthrottled_time 250000000\n", want: map[string]float64{"cgroup.cpu_throttled": 0.25}},
	{name: "cpuacct.usage", parse: parseUsage1, text: "1500000000\n", want: map[string]float64{"cgroup.cpu": 1.5}},
	{name: "memory.current", parse: parseMemory, text: "4096\n", want: map[string]float64{"cgroup.memory": 4096}},
}

func TestParsers(t *testing.T) {
	for _, tt := range kernelCases {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, collect(t, tt.parse, tt.text)); d != "" {
				t.Errorf("emitted (-want +got):\n%s", d)
			}
		})
	}
}

// TestParsersEmpty: what is not there is missing.
func TestParsersEmpty(t *testing.T) {
	for _, tt := range kernelCases {
		for _, text := range []string{"", "\n", "nonsense\n", "cpu", ":\n", "Tcp:\nTcp:\n"} {
			if got := collect(t, tt.parse, text); len(got) > 0 {
				t.Errorf("%s: of %q came %v, want nothing", tt.name, text, got)
			}
		}
	}
}
