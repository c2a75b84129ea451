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

// Page begins a log page 0xD0, little-endian. Reserved bytes and two histograms of
// latencies follow from byte 96 on. Times are in µs since the volume was attached.
// Source: the Amazon EBS user guide, "Detailed performance statistics".
type Page struct {
	Magic, Version                     uint32
	ReadOps, WriteOps                  uint64
	ReadBytes, WriteBytes              uint64
	ReadTime, WriteTime                uint64
	ExceededOps, ExceededBytes         uint64 // of the volume
	NodeExceededOps, NodeExceededBytes uint64 // of the instance
	QueueLength                        uint64
}

// Decode reads a page. A page of another device is an ErrUsage.
func Decode(page []byte) (Page, error) {
	var p Page
	if len(page) != pageSize {
		return p, fmt.Errorf("the log page has %d bytes instead of %d", len(page), pageSize)
	}
	if _, err := binary.Decode(page, binary.LittleEndian, &p); err != nil {
		return p, err
	}
	if p.Magic != magic {
		return p, model.Usagef("this is not an EBS device: its log page begins with %#x instead of %#x", p.Magic, magic)
	}
	return p, nil
}

// measures are those of counters, in the same order.
var measures = [...]telemetry.Measure{
	telemetry.ReadOps, telemetry.WriteOps, telemetry.ReadBytes, telemetry.WriteBytes,
	telemetry.ExceededOps, telemetry.ExceededBytes, telemetry.NodeExceededOps, telemetry.NodeExceededBytes,
}

func (p Page) counters() [len(measures)]uint64 {
	return [...]uint64{p.ReadOps, p.WriteOps, p.ReadBytes, p.WriteBytes,
		p.ExceededOps, p.ExceededBytes, p.NodeExceededOps, p.NodeExceededBytes}
}

// rates are the measures of the time between two pages, in seconds; ok is false if a
// counter went back: the volume was attached anew.
func rates(a, b Page, seconds float64) (rates [len(measures)]float64, ok bool) {
	before, after := a.counters(), b.counters()
	for i := range rates {
		if after[i] < before[i] {
			return rates, false
		}
		rates[i] = float64(after[i]-before[i]) / seconds
		if i >= 4 { // µs of throttled time, which clocks may see as a little more than all
			rates[i] = min(rates[i]/1e6, 1)
		}
	}
	return rates, true
}
