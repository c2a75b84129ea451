package monitor

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// busyKinds are the kinds of processor time in which somebody had the
// processor of this machine.
var busyKinds = map[string]bool{
	"cpu.user": true, "cpu.nice": true, "cpu.system": true, "cpu.irq": true, "cpu.softirq": true, "cpu.guest": true,
}

// Others returns the processor time in seconds that this machine spent on
// anything but the task during a recording: other nodes on the same machine,
// other programs, the agent, and interrupts. own is what the task used in the
// same time: what its process and all its descendants used to their end
// (os.ProcessState), less what they had used when the recording began
// ([ProcessCPU]). Steal is not in it: that is time of other machines.
//
// The result is right to some 10 ms a core, the granularity of /proc/stat, and
// may be that far below 0; ok is false when the machine was not read.
func Others(host []model.HostSeries, own time.Duration) (seconds float64, ok bool) {
	for _, s := range host {
		if n := len(s.Values); busyKinds[s.Metric] && n > 1 {
			seconds += s.Values[n-1] - s.Values[0]
			ok = true
		}
	}
	return seconds - own.Seconds(), ok
}

// ProcessCPU returns the processor time that a process has used so far, with
// that of the descendants whose end it has waited for. root is "/" if empty.
// Without /proc it fails.
func ProcessCPU(root string, pid int) (time.Duration, error) {
	if root == "" {
		root = "/"
	}
	name := filepath.Join(root, "proc", strconv.Itoa(pid), "stat")
	data, err := os.ReadFile(name)
	if err != nil {
		return 0, fmt.Errorf("reading the processor time of process %d: %w", pid, err)
	}
	cpu, ok := parseProcessStat(data)
	if !ok {
		return 0, fmt.Errorf("reading the processor time of process %d: %s is not as expected", pid, name)
	}
	return cpu, nil
}

// parseProcessStat adds utime, stime, cutime and cstime, fields 14 to 17 of
// /proc/PID/stat (proc(5)). The second field is a name in parentheses that may
// hold anything, so counting begins behind the last of them.
func parseProcessStat(b []byte) (time.Duration, bool) {
	end := bytes.LastIndexByte(b, ')')
	if end < 0 {
		return 0, false
	}
	rest := b[end+1:]
	for range 11 { // fields 3 to 13
		_, rest = nextField(rest)
	}
	var ticks [4]uint64
	if uints(rest, ticks[:]) < len(ticks) {
		return 0, false
	}
	const tick = time.Second / userHZ
	var sum time.Duration
	for _, t := range ticks {
		if t > uint64(1<<61/tick) {
			return 0, false
		}
		sum += time.Duration(t) * tick
	}
	return sum, true
}
