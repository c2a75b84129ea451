package load

import (
	"errors"

	"github.com/scalebench/scalebench/internal/model"
)

// Room is how many connections a server has for its clients. The zero value: it does
// not say.
type Room struct {
	// Limit is how many it allows, those of others and what it keeps for itself
	// included; Others is how many others hold.
	Limit  int `json:"server,omitempty"`
	Others int `json:"others,omitempty"`
	// Setting is where the limit is set.
	Setting string `json:"-"`
	// SameUser is how many connections of the same user are not counted as those of
	// others because the server does not tell them from ours.
	SameUser int `json:"-"`
}

// roomShare is the share of a server's connections that is left to others.
const roomShare = .05

// Free is how many connections one of so many generators may open: what others hold,
// and some for those that come, stays theirs. Below 1 there are fewer than generators.
func (r Room) Free(generators int) int {
	left := min(max(int(roomShare*float64(r.Limit)), 1), r.Limit-1)
	return (r.Limit - r.Others - left) / max(generators, 1)
}

// Tighter is the one of two that leaves less.
func (r Room) Tighter(o Room) Room {
	if r.Limit == 0 || o.Limit > 0 && o.Free(1) < r.Free(1) {
		return o
	}
	return r
}

// ConnectionUse is the connections of one generator, or of all, to their target. The zero
// value: they are not counted.
type ConnectionUse struct {
	// Asked is how many there were to be at most, Allowed how many there may be: fewer
	// where the server has no room for more.
	Asked   int `json:"asked"`
	Allowed int `json:"allowed"`
	// Open is how many were open at most.
	Open int `json:"most"`
	Room
	// Refused counts attempts to open one that the server refused because it allows
	// no more; Answer is the first of its answers to them.
	Refused int64  `json:"refused,omitempty"`
	Answer  string `json:"answer,omitempty"`
}

// Capped reports whether the server had no room for as many as were asked for.
func (c ConnectionUse) Capped() bool { return c.Allowed < c.Asked }

// longestAnswer bounds the text of a server, in bytes.
const longestAnswer = 300

// refuse counts a connection that could not be opened, if that was because the server
// allows no more.
func (c *ConnectionUse) refuse(err error) (full bool) {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Full == "" {
		return false
	}
	if c.Refused++; c.Answer == "" {
		c.Answer = e.Full[:min(len(e.Full), longestAnswer)]
	}
	return true
}

// Names of what connections are made of in a result: MetricConnections has the label
// "of", and of those refused "answer", of those that the server allows "setting".
const (
	MetricConnections                                         = "generator_connections"
	labelOf, labelAnswer, labelSetting                        = "of", "answer", "setting"
	ofAsked, ofAllowed, ofServer, ofOthers, ofMost, ofRefused = "asked", "allowed", "server", "others", "most", "refused"
)

// report publishes them, where they are counted.
func (c ConnectionUse) report(to Sink) {
	put := func(of string, n int64, label, text string) {
		labels := map[string]string{labelOf: of}
		if text != "" {
			labels[label] = text
		}
		to.Sample(model.Sample{Metric: MetricConnections, Unit: "1", Value: float64(n), Better: model.Lower, Info: true,
			Labels: labels})
	}
	if c.Asked == 0 {
		return
	}
	put(ofAsked, int64(c.Asked), "", "")
	put(ofAllowed, int64(c.Allowed), "", "")
	put(ofMost, int64(c.Open), "", "")
	if c.Limit > 0 {
		put(ofServer, int64(c.Limit), labelSetting, c.Setting)
		put(ofOthers, int64(c.Others), "", "")
	}
	if c.Refused > 0 {
		put(ofRefused, c.Refused, labelAnswer, c.Answer)
	}
}

// take reads what report has published.
func (c *ConnectionUse) take(x model.Sample) {
	n := int(x.Value)
	switch x.Labels[labelOf] {
	case ofAsked:
		c.Asked = n
	case ofAllowed:
		c.Allowed = n
	case ofMost:
		c.Open = n
	case ofServer:
		c.Limit, c.Setting = n, x.Labels[labelSetting]
	case ofOthers:
		c.Others = n
	case ofRefused:
		c.Refused, c.Answer = int64(n), x.Labels[labelAnswer]
	}
}
