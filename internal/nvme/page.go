// Package nvme reads the counters that an EBS volume has on an instance: operations,
// bytes, and the time in which a limit of the volume or of the instance was exceeded.
//
//  1. [Decode] reads the log page 0xD0 of Amazon's devices (page.go).
//  2. [Device] gets it from Linux (device_linux.go). It needs root.
//  3. [Read] asks again and again, and makes rates of it (read.go).
package nvme

import (
	"encoding/binary"
	"fmt"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/telemetry"
)

const (
	pageSize = 4096
	magic    = 0x3C23B510
)

// words are the counters from byte 8 on, 64 bits each, little-endian. Those without a name are
// times of operations. Times are in µs since the volume was attached. A queue length, reserved
// bytes and two histograms of latencies follow. Source: the Amazon EBS user guide, "Detailed
// performance statistics".
var words = [...]telemetry.Measure{
	telemetry.ReadOps, telemetry.WriteOps, telemetry.ReadBytes, telemetry.WriteBytes, "", "",
	telemetry.ExceededOps, telemetry.ExceededBytes, telemetry.NodeExceededOps, telemetry.NodeExceededBytes,
}

// throttled is the first word that is throttled time.
const throttled = 6

// Page is the counters of a log page.
type Page [len(words)]uint64

// Decode reads a page. One of another device is an ErrUsage.
func Decode(page []byte) (p Page, err error) {
	if len(page) != pageSize {
		return p, fmt.Errorf("the log page has %d bytes instead of %d", len(page), pageSize)
	}
	if begin := binary.LittleEndian.Uint32(page); begin != magic {
		return p, model.Usagef("this is not an EBS device: its log page begins with %#x instead of %#x", begin, magic)
	}
	for i := range p {
		p[i] = binary.LittleEndian.Uint64(page[8+8*i:])
	}
	return p, nil
}

// recording makes rates of pages and the Unix s at which they were read.
func recording(service string, times []float64, pages []Page) telemetry.Recording {
	counters := make(map[telemetry.Measure][]float64)
	for _, p := range pages {
		for i, m := range words {
			if m != "" {
				// Differences to the first page are exact, and below 0 after a reset.
				counters[m] = append(counters[m], float64(int64(p[i]-pages[0][i])))
			}
		}
	}
	r := telemetry.FromCounters(service, times, counters)
	for _, m := range words[throttled:] {
		for i, rate := range r.Rates[m] {
			r.Rates[m][i] = min(rate/1e6, 1) // clocks may see a little more than all
		}
	}
	r.Source = "nvme"
	return r
}
