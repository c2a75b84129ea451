// Package nvme reads the counters that an EBS volume has on an instance: operations,
// bytes, and the time in which a limit of the volume or of the instance was exceeded.
//
//  1. [Is] says which devices are such volumes.
//  2. [Read] gets the log page 0xD0 from Linux (device_linux.go). It needs root.
//  3. [Decode] takes it apart (page.go).
package nvme

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/procself"
)

const (
	pageSize = 4096
	magic    = 0x3C23B510
)

// Counters are those of a log page from byte 8 on, little-endian. Times are in µs; all grow since
// the volume was attached. A queue length, reserved bytes and two histograms of latencies follow.
// Source: the Amazon EBS user guide, "Detailed performance statistics".
type Counters struct {
	ReadOps, WriteOps, ReadBytes, WriteBytes, ReadTime, WriteTime uint64
	// Exceeded is for how long a limit was exceeded: the volume's of operations and of bytes, and
	// those of the instance.
	Exceeded [4]uint64
}

// Decode reads a page. One of another device is an ErrUsage.
func Decode(page []byte) (c Counters, err error) {
	if len(page) != pageSize {
		return c, fmt.Errorf("the log page has %d bytes instead of %d", len(page), pageSize)
	}
	if begin := binary.LittleEndian.Uint32(page); begin != magic {
		return c, model.Usagef("this is not an EBS device: its log page begins with %#x instead of %#x", begin, magic)
	}
	_, err = binary.Decode(page[8:], binary.LittleEndian, &c)
	return c, err
}

// Is reports whether a device, such as nvme1n1, is an EBS volume: its serial number is the volume's
// id. sys is the path of /sys.
func Is(sys, name string) bool {
	return strings.HasPrefix(name, "nvme") &&
		strings.HasPrefix(procself.ReadText(filepath.Join(sys, "block", name, "device/serial")), "vol")
}
