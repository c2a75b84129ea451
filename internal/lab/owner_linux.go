package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Self is the process that asks, as an owner.
func Self() (Owner, error) { return OwnerOf(os.Getpid()) }

// OwnerOf is a living process as an owner.
func OwnerOf(pid int) (Owner, error) {
	start, err := startTicks(pid)
	if err != nil {
		return Owner{}, fmt.Errorf("identifying process %d: %w", pid, err)
	}
	boot, err := bootID()
	if err != nil {
		return Owner{}, fmt.Errorf("identifying process %d: %w", pid, err)
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return Owner{}, fmt.Errorf("identifying process %d: %w", pid, err)
	}
	return Owner{PID: pid, Start: start, Boot: boot, Space: space}, nil
}

// bootID is another one whenever the machine has restarted.
func bootID() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id)), err
}

// earlierBoot reports whether the owner lived before the machine's restart. It
// is false where that cannot be known.
func (o Owner) earlierBoot() bool {
	now, err := bootID()
	return err == nil && o.Boot != "" && o.Boot != now
}

// Alive reports whether the process still runs. A process of another PID
// namespace cannot be seen from here and counts as alive, for what it owns
// must not be taken away; with the machine's restart it is gone for certain.
func (o Owner) Alive() bool {
	me, err := Self()
	if err != nil {
		return true
	}
	if o.Boot != me.Boot {
		return false
	}
	if o.Space != me.Space {
		return true
	}
	start, err := startTicks(o.PID)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return false
	}
	return err != nil || start == o.Start
}

// startTicks reads when a process started. A zombie has ended: it does not
// exist.
func startTicks(pid int) (uint64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name, field 2, may hold anything but ends with the last parenthesis.
	_, rest, _ := strings.Cut(string(data[strings.LastIndexByte(string(data), ')')+1:]), " ")
	fields := strings.Fields(rest)
	const first, start = 3, 22 // numbers of fields in proc(5)
	if len(fields) <= start-first {
		return 0, fmt.Errorf("/proc/%d/stat has only %d fields after the name", pid, len(fields))
	}
	if state := fields[0]; state == "Z" || state == "X" {
		return 0, fs.ErrNotExist
	}
	return strconv.ParseUint(fields[start-first], 10, 64)
}
