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
	readers := make([]reader, len(s.Devices))
	for i, device := range s.Devices {
		readers[i] = reader{device: device, Recording: telemetry.Recording{
			Source: "nvme", Node: s.Node, Service: volume(device), Rates: make(map[telemetry.Measure]telemetry.Numbers)}}
	}
	if s.For > 0 {
		var cancel context.CancelFunc
		// Half a period more, so that the last reading is in it.
		ctx, cancel = context.WithTimeout(ctx, s.For+s.Period/2)
		defer cancel()
	}
	tick := time.NewTicker(s.Period)
	defer tick.Stop()
	for {
		for i := range readers {
			if err := readers[i].read(s.page); err != nil {
				return nil, fmt.Errorf("%s: %w", s.Devices[i], err)
			}
		}
		select {
		case <-ctx.Done():
			out := make([]telemetry.Recording, len(readers))
			for i, r := range readers {
				out[i] = r.Recording
			}
			return out, nil
		case <-tick.C:
		}
	}
}

type reader struct {
	telemetry.Recording
	device string
	at     time.Time // of the last page; zero: there is none
	last   Page
}

func (r *reader) read(page func(string) ([]byte, error)) error {
	data, err := page(r.device)
	now := time.Now()
	if err != nil {
		return err
	}
	p, err := Decode(data)
	if err != nil {
		return err
	}
	before, at := r.last, r.at
	r.last, r.at = p, now
	elapsed := now.Sub(at).Seconds() // by the monotonic clock
	if at.IsZero() || elapsed <= 0 {
		return nil
	}
	begin, end := float64(at.UnixMicro())/1e6, float64(at.UnixMicro())/1e6+elapsed
	if n := len(r.End); n > 0 && r.End[n-1] > begin { // wall clock set back
		begin, end = r.End[n-1], r.End[n-1]+elapsed
	}
	values, ok := rates(before, p, elapsed)
	if !ok {
		r.Remarks = append(r.Remarks, telemetry.Remark{Code: "reset", Count: 1, At: end})
		return nil
	}
	r.Begin, r.End = append(r.Begin, begin), append(r.End, end)
	for i, m := range measures {
		r.Rates[m] = append(r.Rates[m], values[i])
	}
	return nil
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
