package facts

import (
	"path"
	"runtime"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// osName is the distribution's full name, e.g. "Debian GNU/Linux 12
// (bookworm)", or the system's where there is none ("darwin").
func osName(root tree) string {
	for _, file := range []string{"etc/os-release", "usr/lib/os-release"} {
		for line := range strings.SplitSeq(root.text(file), "\n") {
			if value, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
				return strings.Trim(value, `"'`)
			}
		}
	}
	return runtime.GOOS
}

// memory is MemTotal, in bytes: what the kernel manages, a little less than
// what the machine was rented with.
func memory(root tree) int64 {
	fields := strings.Fields(statusField(root.text("proc/meminfo"), "MemTotal"))
	if len(fields) != 2 || fields[1] != "kB" {
		return 0
	}
	kib, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil || kib < 0 || kib > 1<<52 {
		return 0
	}
	return kib * 1024
}

// notDisks are block devices that hold no volume of the node: files, memory,
// drives for removable media.
var notDisks = []string{"loop", "ram", "zram", "sr", "fd"}

// disks lists the block devices, by name. The kernel counts their size in
// sectors of 512 bytes, whatever the device's own.
func disks(root tree) []model.Disk {
	var list []model.Disk
	for _, name := range root.names("sys/block") {
		dir := path.Join("sys/block", name)
		sectors, err := strconv.ParseInt(root.text(path.Join(dir, "size")), 10, 64)
		if err != nil || sectors <= 0 || sectors > 1<<53 || isNoDisk(name) {
			continue
		}
		list = append(list, model.Disk{
			Name:       strings.ReplaceAll(name, "!", "/"), // sysfs cannot hold a slash
			Size:       sectors * 512,
			Model:      root.text(path.Join(dir, "device/model")),
			Rotational: root.text(path.Join(dir, "queue/rotational")) == "1",
		})
	}
	return list
}

// isNoDisk matches "loop0" and "fd1", but not "fdisk".
func isNoDisk(name string) bool {
	kind := strings.TrimRight(name, "0123456789")
	for _, n := range notDisks {
		if kind == n {
			return true
		}
	}
	return false
}
