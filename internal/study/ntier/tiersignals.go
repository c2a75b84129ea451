package ntier

import (
	"slices"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/doc/num"
)

// Signal is a signal of a tier by load, mean over its hosts and the trials; of what is
// sent it is the sum over its hosts. Null is what is not known.
type Signal struct {
	Tier   string     `json:"tier"`
	Signal string     `json:"signal"`
	Unit   string     `json:"unit"`
	Users  []int      `json:"users"`
	Values []*float64 `json:"values"`
}

// What is not the mean of one signal: the response time of a tier itself, and what all of
// its hosts send together.
const signalResponse, signalSent = "response", "sent"

// shownSignal is one that figures have.
type shownSignal struct{ name, unit, words string }

// shownSignals are those of the paper's fig. 4b, 5, 6 and 7b.
var shownSignals = []shownSignal{
	{signalResponse, "s", "response time of the tier"},
	{bottleneck.SignalSendQueue, "byte", "Send-Q of a host: sent, and not acknowledged yet"},
	{bottleneck.SignalReceiveQueue, "byte", "Recv-Q of a host: received, and not read by the service yet"},
	{bottleneck.SignalRTT, "ms", "round-trip time of connections to a host, acknowledgements that are delayed (40 ms at most) in it"},
	{bottleneck.SignalSwitches, "1/s", "context switches of a host"},
	{bottleneck.SignalSwitchShare, "1", "share of the processors that switching takes"},
	{signalSent, "byte/s", "what its hosts send, together"},
}

// signals are those of all tiers that are known at any load.
func (m measured) signals(loads []bottleneck.Load) []Signal {
	out := []Signal{}
	for _, tier := range m.system.Tiers {
		for _, x := range shownSignals {
			s := Signal{Tier: tier, Signal: x.name, Unit: x.unit}
			for _, l := range loads {
				v := m.system.At(l, tier, x.name)
				switch x.name {
				case signalResponse:
					v, _ = l.Served(tier)
				case signalSent:
					v = l.Total(tier, bottleneck.SignalSent)
				}
				s.Users, s.Values = append(s.Users, l.Users), append(s.Values, num.IfFinite(v))
			}
			if slices.ContainsFunc(s.Values, func(v *float64) bool { return v != nil }) {
				out = append(out, s)
			}
		}
	}
	return out
}
