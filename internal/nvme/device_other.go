//go:build !linux

package nvme

import "github.com/scalebench/scalebench/internal/model"

// Device reads the log page of an NVMe device: on Linux only.
func Device(string) ([]byte, error) {
	return nil, model.Usagef("EBS counters are read on Linux only")
}
