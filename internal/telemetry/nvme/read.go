package nvme

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/telemetry"
)

// Spec says what is read.
type Spec struct {
	Devices []string      // such as /dev/nvme1n1
	Period  time.Duration // between two readings
	For     time.Duration // all in all; 0: until the context ends
	Node    string

	page func(device string) ([]byte, error) // Device, unless tests set it
}

// Read reads devices until the time is over or the context ends, and returns a
// recording of each. Its service is the volume's id, which is the device's serial.
func Read(ctx context.Context, s Spec) ([]telemetry.Recording, error) {
	if len(s.Devices) == 0 || s.Period <= 0 || s.For < 0 {
		return nil, model.Usagef("EBS counters need devices, such as /dev/nvme1n1, and a period above 0")
	}
	if s.page == nil {
		s.page = Device
	}
	times, pages := make([][]float64, len(s.Devices)), make([][]Page, len(s.Devices))
	begin := time.Now()
	if s.For > 0 {
		var cancel context.CancelFunc
		// Half a period more, so that the last reading is in it.
		ctx, cancel = context.WithTimeout(ctx, s.For+s.Period/2)
		defer cancel()
	}
	tick := time.NewTicker(s.Period)
	defer tick.Stop()
	for {
		for i, device := range s.Devices {
			data, err := s.page(device)
			at := float64(begin.UnixMicro())/1e6 + time.Since(begin).Seconds() // the wall clock may be set
			var page Page
			if err == nil {
				page, err = Decode(data)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", device, err)
			}
			times[i], pages[i] = append(times[i], at), append(pages[i], page)
		}
		select {
		case <-ctx.Done():
			out := make([]telemetry.Recording, len(s.Devices))
			for i, device := range s.Devices {
				out[i] = recording(volume(device), times[i], pages[i])
				out[i].Node = s.Node
			}
			return out, nil
		case <-tick.C:
		}
	}
}

// volume is the id of a device's volume, or the device's name where there is no serial.
func volume(device string) string {
	name := filepath.Base(device)
	serial, err := os.ReadFile(filepath.Join("/sys/class/block", name, "device/serial"))
	if id, ok := strings.CutPrefix(strings.TrimSpace(string(serial)), "vol"); err == nil && ok {
		return "vol-" + strings.TrimPrefix(id, "-")
	}
	return name
}
