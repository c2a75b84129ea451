//go:build !linux

package nvme

import "github.com/scalebench/scalebench/internal/model"

// Read reads the counters of an NVMe device: on Linux only.
func Read(string) (Counters, error) {
	return Counters{}, model.Usagef("EBS counters are read on Linux only")
}
