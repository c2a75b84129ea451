package analysis

import "github.com/scalebench/scalebench/internal/model"

// payloadShare is what a full packet carries for its user: 1448 bytes of 1514,
// TCP with timestamps over Ethernet with 1500-byte packets. With larger packets
// it is more.
const payloadShare = 1448. / 1514

// least is what a demand is at least, beside a capacity in payload. Smaller
// packets carry less, but use up the link like full ones.
func (d Demand) least() float64 {
	if d.Wire {
		return d.Amount * payloadShare
	}
	return d.Amount
}

// against brings a demand to what its capacity counts. One that was counted in
// packets is held against a capacity that a workload measured in payload: by
// how much it is less in payload is not known, so its interval reaches down to
// the payload of full packets, and so does everything that follows from it. A
// limit that somebody gave is taken as counting what the demand counts.
func (d Demand) against(c Capacity, n *notes) Demand {
	if !d.Wire || c.Nodes == 0 {
		d.Wire = false
		return d
	}
	lo, hi := rangeOf(d.Amount, d.CI)
	d.CI = &model.Interval{lo * payloadShare, hi}
	n.warn("the demand on %s was counted in packets with their headers, its capacity in payload: in full packets it is %s and not %s; the interval covers both",
		d.Resource, AmountText(d.least(), d.Unit, d.Resource), AmountText(d.Amount, d.Unit, d.Resource))
	return d
}
