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
	NoStamps     caveat.Code = "no_stamps"     // Count: reports that are placed by their order
	DatesGuessed caveat.Code = "dates_guessed" // Of: what is first
	Sorted       caveat.Code = "sorted_times"  // Count: steps back in time
	Twice        caveat.Code = "equal_rows"    // Count: rows that say what another one says
	Overlap      caveat.Code = "overlap"       // Count: periods that overlap with earlier ones, left out
	Absent       caveat.Code = "absent"        // Count: reports without the device
	Gap          caveat.Code = "gap"           // Count: periods without a value
	Reset        caveat.Code = "reset"         // Count: periods in which counters fell
	Wrapped      caveat.Code = "wrapped"       // Count: counters of 32 bits that went on from 0
	ClockSet     caveat.Code = "clock_set"     // Count: the clock went back, or far ahead
	Paused       caveat.Code = "paused"        // Count: periods that are much longer than others
	Discards     caveat.Code = "discards"      // Count: reports in which discards may be among operations or bytes
	Repeated     caveat.Code = "clock_repeats" // Count: periods in an hour that the clock showed twice
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

// define makes a definition of a text with the service, how often, of what, and where first.
func define(code caveat.Code, noun, text string) caveat.Definition {
	return caveat.Define(code, func(n Noted) string {
		where := ""
		switch {
		case n.Line > 0:
			where = fmt.Sprintf(", the first in line %d", n.Line)
		case n.At > 0:
			where = ", the first at " + time.Unix(int64(n.At), 0).UTC().Format(time.DateTime)
		}
		return fmt.Sprintf("%[1]s: "+text, n.Service, num.Count(n.Count, noun), n.Of, where)
	})
}

// Caveats defines what remarks say.
var Caveats = caveat.Table{
	define(SinceBoot, "report", "the first report of iostat may be about the time since boot and is left out"),
	define(Cut, "line", "the file ends within a report or a line, which is left out"),
	define(NoStamps, "report", "%[2]s have no time and are placed one after the other; record times, too (iostat -t)"),
	define(DatesGuessed, "date", "dates are read with the %[3]s, and no date shows it; record with S_TIME_FORMAT=ISO"),
	define(Sorted, "time", "times go back %[2]s; the periods were sorted"),
	define(Twice, "row", "%[2]s equal another one and are left out%[4]s"),
	define(Overlap, "period", "%[2]s overlap with earlier ones and are left out%[4]s"),
	define(Absent, "report", "the device is missing in %[2]s, which count as gaps; iostat -z leaves out idle devices: "+
		"record without it"),
	define(Gap, "period", "nothing is known in %[2]s, which count as gaps%[4]s"),
	define(Reset, "period", "counters fell in %[2]s, which count as gaps%[4]s"),
	define(Wrapped, "time", "counters of 32 bits passed their end %[2]s, and were continued%[4]s"),
	define(ClockSet, "time", "the clock was set %[2]s; the period counts as a gap%[4]s"),
	define(Paused, "period", "%[2]s are over ten times as long as others and count as gaps%[4]s"),
	define(Repeated, "period", "%[2]s are in an hour that the clock showed twice, and may be an hour off; "+
		"record times with their zone"),
	define(Discards, "report", "discards may count as operations or bytes in %[2]s; record with iostat -x without -s"),
	define(RatesAssumed, "column", "the column %[3]s is read as a rate a second; divide it first if it has counts"),
}

// Caveats are the remarks as caveats about the node and service, without texts.
func (r *Recording) Caveats() (out caveat.List) {
	for _, x := range r.Remarks {
		out = append(out, caveat.Caveat{Code: x.Code, Severity: model.Warning,
			Subject: caveat.Subject{Node: model.NodeID(r.Node), Part: r.Service},
			Args:    Noted{caveat.Verbatim(r.Service), caveat.Verbatim(x.Of), x.Count, x.Line, x.At}})
	}
	return out
}
