package sizing

import (
	"fmt"
	"slices"

	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/observe"
)

// fewBytes is below which part of the bytes that a resource carries a workload is bound by
// something else than bytes.
const fewBytes = .5

// packetHeaders is what a packet with few bytes takes of an Ethernet link beside them: TCP
// and IP with time stamps (52), the frame with its check (18), preamble and gap (20). A link
// that small packets fill is bound by bytes, headers included.
const packetHeaders = 90

// boundByCalls finds the workloads that operations, packets or calls bound: they moved few
// of the bytes that another workload, or the user, says the resource carries (section 4.4
// of the ScaleBench paper compares sizes of objects so). Such a rate is one of the resource,
// whatever the size of an operation, and its bytes are none. Of several rates of a workload
// the largest counts all calls.
func boundByCalls(all []capacity) {
	for i := range all {
		c := &all[i]
		counted := c.unit == observe.CallRate || c.unit == observe.PacketRate
		if c.nodes == 0 || !counted || slices.ContainsFunc(all, c.exceededBy) {
			continue
		}
		for j := range all {
			moved := &all[j]
			if !moved.besides(*c) || moved.workload != c.workload {
				continue
			}
			carried := moved.total
			if c.unit == observe.PacketRate {
				carried += packetHeaders * c.total
			}
			most, known := mostBytes(all, *moved)
			// Small packets that fill a link carry less than it, without a limit of packets.
			moved.partial = moved.partial || c.unit == observe.PacketRate && known && moved.total < most
			if !known || carried >= fewBytes*most {
				continue
			}
			moved.partial, c.calls = true, true
			text := func(v float64) string { return evaluation.AmountText(v, moved.unit, moved.resource) }
			c.source += fmt.Sprintf(", with %s where there are %s", text(moved.total), text(most))
		}
	}
	for i := range all {
		for j := range all {
			a, b := &all[i], all[j]
			part := i != j && a.calls && b.calls && a.workload == b.workload && a.resource == b.resource && a.unit == b.unit
			a.partial = a.partial || part && (a.total < b.total || a.total == b.total && i < j)
		}
	}
}

// exceededBy reports another workload with more operations: what fewer of them bound was not
// their rate, as on a disk with blocks at random beside blocks in order.
func (c capacity) exceededBy(o capacity) bool {
	const noise = 1.05
	return o.resource == c.resource && o.unit == c.unit && o.nodes == c.nodes && o.workload != c.workload &&
		o.total > noise*c.total
}

// besides reports the bytes of what another capacity counts in operations.
func (c capacity) besides(of capacity) bool {
	return c.unit == evaluation.ByteRate && c.resource == of.resource && c.resource != ""
}

// mostBytes is the most that the resource carries by other workloads with as many nodes, or
// by what was given.
func mostBytes(all []capacity, moved capacity) (most float64, known bool) {
	for _, c := range all {
		if c.besides(moved) && c.workload != moved.workload && (c.nodes == moved.nodes || c.nodes == 0) {
			most, known = max(most, c.total), true
		}
	}
	return most, known
}
