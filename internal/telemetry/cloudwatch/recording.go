package cloudwatch

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/telemetry"
)

// recording leaves out the slots in which no operations and no bytes are known, and
// the measures that the volume does not send.
func (v *volume) recording(g grid) (telemetry.Recording, error) {
	r := telemetry.Recording{Source: "cloudwatch", Node: v.node, Service: v.id, Rates: make(map[telemetry.Measure]telemetry.Numbers)}
	var slots []int
	gap := telemetry.Remark{Code: "gap"}
	nearest := g.slots
	for slot := range g.slots {
		if !slices.ContainsFunc(metrics[:4], func(m metric) bool { return !math.IsNaN(v.values[m.measure][slot]) }) {
			if gap.Count++; gap.Count == 1 {
				gap.At = seconds(g.at(slot))
			}
			continue
		}
		if len(slots) > 0 {
			nearest = min(nearest, slot-slots[len(slots)-1])
		}
		slots = append(slots, slot)
		r.Begin, r.End = append(r.Begin, seconds(g.at(slot))), append(r.End, seconds(g.at(slot+1)))
	}
	switch {
	case len(slots) == 0:
		return r, fmt.Errorf("%w: CloudWatch has no data of %s between %s and %s; check id, region, and that it was attached",
			model.ErrNotFound, v.id, stamp(g.begin), stamp(g.end()))
	case len(slots) > 2 && nearest > 1:
		// Volumes without detailed monitoring send sums of five minutes: a minute has them all.
		return r, model.Usagef("%s has values every %v at most, so each may be a sum of that time; choose it as the period",
			v.id, time.Duration(nearest)*g.period)
	}
	if gap.Count > 0 {
		r.Remarks = append(r.Remarks, gap)
	}
	if !g.shortest {
		r.Remarks = append(r.Remarks, telemetry.Remark{Code: "no-minutes", Count: int(g.period / time.Minute), At: r.Begin[0]})
	}
	for _, m := range metrics {
		values, known := make(telemetry.Numbers, len(slots)), false
		for i, slot := range slots {
			if m.namespace == "AWS/EC2" && v.node == "" {
				break
			}
			values[i] = v.values[m.measure][slot]
			known = known || !math.IsNaN(values[i])
		}
		if known {
			r.Rates[m.measure] = values
		}
	}
	return r, nil
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1e3 }
