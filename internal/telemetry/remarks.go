package telemetry

import (
	"fmt"
	"time"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
)

// Codes of remarks.
const (
	SinceBoot    caveat.Code = "since_boot"    // the first report of iostat is left out
	Cut          caveat.Code = "cut_file"      // the file ends within a report
	NoStamps     caveat.Code = "no_stamps"     // reports are placed by their order
	DatesGuessed caveat.Code = "dates_guessed" // Of: what is first
	Sorted       caveat.Code = "sorted_times"  // Count: steps back in time
	Twice        caveat.Code = "equal_rows"    // copies are left out
	Overlap      caveat.Code = "overlap"       // periods that overlap with earlier ones are left out
	Absent       caveat.Code = "absent"        // Count: reports without the device
	Gap          caveat.Code = "gap"           // Count: periods without a value
	Reset        caveat.Code = "reset"         // counters fell
	Wrapped      caveat.Code = "wrapped"       // counters of 32 bits went on from 0
	ClockSet     caveat.Code = "clock_set"     // the clock went back, or far ahead
	Paused       caveat.Code = "paused"        // much longer than others
	Discards     caveat.Code = "discards"      // Count: reports in which discards may be among operations or bytes
	RatesAssumed caveat.Code = "rates_assumed" // Of: a column that may have counts
)

// Noted is what the caveats of recordings are made of.
type Noted struct {
	Service caveat.Verbatim `json:"service"`
	Of      caveat.Verbatim `json:"of,omitempty"`
	Count   int             `json:"count"`
	Line    int             `json:"line,omitempty"`
	At      float64         `json:"at,omitempty"` // Unix s
}

// where is the first place in words.
func (n Noted) where() string {
	switch {
	case n.Line > 0:
		return fmt.Sprintf(", the first in line %d", n.Line)
	case n.At > 0:
		return ", the first at " + time.Unix(int64(n.At), 0).UTC().Format(time.DateTime)
	}
	return ""
}

func (n Noted) times(noun string) string { return num.Count(n.Count, noun) }

// Caveats defines what remarks say.
var Caveats = caveat.Table{
	caveat.Define(SinceBoot, func(n Noted) string {
		return fmt.Sprintf("%s: the first report of iostat may be about the time since boot and is left out", n.Service)
	}),
	caveat.Define(Cut, func(n Noted) string {
		return fmt.Sprintf("%s: the file ends within a report or a line, which is left out", n.Service)
	}),
	caveat.Define(NoStamps, func(n Noted) string {
		return fmt.Sprintf("%s: %s have no time and are placed one after the other; record with iostat -t", n.Service,
			n.times("report"))
	}),
	caveat.Define(DatesGuessed, func(n Noted) string {
		return fmt.Sprintf("%s: dates are read with the %s, and no date shows it; record with S_TIME_FORMAT=ISO", n.Service,
			n.Of)
	}),
	caveat.Define(Sorted, func(n Noted) string {
		return fmt.Sprintf("%s: times go back %s; the periods were sorted", n.Service, n.times("time"))
	}),
	caveat.Define(Twice, func(n Noted) string {
		return fmt.Sprintf("%s: %s equal another one and are left out%s", n.Service, n.times("row"), n.where())
	}),
	caveat.Define(Overlap, func(n Noted) string {
		return fmt.Sprintf("%s: %s overlap with earlier ones and are left out%s", n.Service, n.times("period"), n.where())
	}),
	caveat.Define(Absent, func(n Noted) string {
		return fmt.Sprintf("%s: the device is missing in %s, which count as gaps; iostat -z leaves out idle devices: "+
			"record without it", n.Service, n.times("report"))
	}),
	caveat.Define(Gap, func(n Noted) string {
		return fmt.Sprintf("%s: nothing is known in %s%s; they count as gaps", n.Service, n.times("period"), n.where())
	}),
	caveat.Define(Reset, func(n Noted) string {
		return fmt.Sprintf("%s: counters fell in %s%s; they count as gaps", n.Service, n.times("period"), n.where())
	}),
	caveat.Define(Wrapped, func(n Noted) string {
		return fmt.Sprintf("%s: counters of 32 bits passed their end %s, and were continued", n.Service, n.times("time"))
	}),
	caveat.Define(ClockSet, func(n Noted) string {
		return fmt.Sprintf("%s: the clock was set %s%s; the period counts as a gap", n.Service, n.times("time"), n.where())
	}),
	caveat.Define(Paused, func(n Noted) string {
		return fmt.Sprintf("%s: %s are over ten times as long as others%s; they count as gaps", n.Service, n.times("period"),
			n.where())
	}),
	caveat.Define(Discards, func(n Noted) string {
		return fmt.Sprintf("%s: discards may count as operations or bytes in %s; record with iostat -x and without -s",
			n.Service, n.times("report"))
	}),
	caveat.Define(RatesAssumed, func(n Noted) string {
		return fmt.Sprintf("%s: the column %s is read as a rate a second; if it has counts of a period, divide them first",
			n.Service, n.Of)
	}),
}

// Caveats are the remarks as caveats about the node and service, without texts.
func (r *Recording) Caveats() caveat.List {
	var out caveat.List
	for _, x := range r.Remarks {
		out = append(out, caveat.Caveat{Code: x.Code, Severity: model.Warning,
			Subject: caveat.Subject{Node: model.NodeID(r.Node), Part: r.Service},
			Args: Noted{Service: caveat.Verbatim(r.Service), Of: caveat.Verbatim(x.Of), Count: x.Count, Line: x.Line,
				At: x.At}})
	}
	return out
}
