package runner

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"os"
	"strconv"
	"strings"
)

// proc is one process as /proc/<pid>/stat shows it (proc(5)).
type proc struct {
	pid, ppid, pgrp int
	zombie          bool
	ticks           uint64 // start, in clock ticks since boot
}

// readProc reads one process.
func readProc(pid int) (proc, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return proc{}, err
	}
	return parseStat(pid, string(data))
}

// parseStat takes a line of /proc/<pid>/stat apart. The second field is the
// command's name in parentheses; the name may itself hold spaces and
// parentheses, so fields are counted from the last one.
func parseStat(pid int, line string) (proc, error) {
	end := strings.LastIndexByte(line, ')')
	if end < 0 {
		return proc{}, fmt.Errorf("process %d: no command name in %q", pid, line)
	}
	f := strings.Fields(line[end+1:])
	const start = 22 - 3 // field 22 of proc(5); f[0] is field 3
	if len(f) <= start {
		return proc{}, fmt.Errorf("process %d: only %d fields", pid, len(f))
	}
	p := proc{pid: pid, zombie: f[0] == "Z" || f[0] == "X"}
	var err error
	if p.ppid, err = strconv.Atoi(f[1]); err != nil {
		return proc{}, fmt.Errorf("process %d: parent: %w", pid, err)
	}
	if p.pgrp, err = strconv.Atoi(f[2]); err != nil {
		return proc{}, fmt.Errorf("process %d: group: %w", pid, err)
	}
	if p.ticks, err = strconv.ParseUint(f[start], 10, 64); err != nil {
		return proc{}, fmt.Errorf("process %d: start time: %w", pid, err)
	}
	return p, nil
}

// processes lists all processes. Those that end meanwhile are left out.
func processes() ([]proc, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	_ = dir.Close() // only read
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	var out []proc
	for _, n := range names {
		pid, err := strconv.Atoi(n)
		if err != nil {
			continue // not a process
		}
		if p, err := readProc(pid); err == nil {
			out = append(out, p)
		}
	}
	return out, nil
}

// startToken identifies a process beyond its id: a hash of its start time and
// of the boot, because ticks count from boot.
func startToken(pid int) (uint64, error) {
	p, err := readProc(pid)
	if err != nil {
		return 0, fmt.Errorf("reading the start time of process %d: %w", pid, err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return 0, fmt.Errorf("reading the boot id: %w", err)
	}
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s %d", bytes.TrimSpace(boot), p.ticks) // a hash takes everything
	return h.Sum64(), nil
}

// carries reports whether a process was started with this variable
// ("NAME=value") in its environment. Processes of other users say no.
func carries(pid int, variable string) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for entry := range bytes.SplitSeq(data, []byte{0}) {
		if string(entry) == variable {
			return true
		}
	}
	return false
}
