package design

import (
	"fmt"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/schedule"
	"github.com/scalebench/scalebench/internal/unit"
)

// Repetitions are what is known beforehand of a campaign.
type Repetitions struct {
	Text  string    `json:"text"` // when they are due and until when, in words
	Begin time.Time `json:"begin"`
	// End and Total are zero for a schedule without end.
	End   time.Time   `json:"end,omitzero"`
	Total int         `json:"total,omitempty"`
	Next  []time.Time `json:"next"` // the first times, without their jitter
	// Overrun says that a repetition takes longer than the time to the next.
	Overrun string `json:"overrun,omitempty"`

	show func(time.Time) string // in the zone of the schedule
}

// next are the first times: the day is said where it is another one.
func (r *Repetitions) next() string {
	var all []string
	day := ""
	for _, at := range r.Next {
		date, clock, _ := strings.Cut(r.show(at), " ")
		if date != day {
			clock = date + " " + clock
		}
		all, day = append(all, clock), date
	}
	return strings.Join(all, ", ")
}

// nextShown is how many times of a schedule are shown.
const nextShown = 5

// Repeat adds the schedule of the experiment, as of a campaign that is made now;
// nothing where the file has none.
func (d *Design) Repeat(exp *experiment.Experiment, now time.Time) error {
	if exp.Schedule == nil {
		return nil
	}
	begin, end, err := exp.Bounds(now)
	if err != nil {
		return err
	}
	s, err := schedule.New(*exp.Schedule, begin, end, 0)
	if err != nil {
		return err
	}
	r := &Repetitions{Text: s.Describe(), Begin: begin, End: end, show: s.Show}
	r.Total, _ = s.Total()
	for number := 1; number <= nextShown; number++ {
		at, ok := s.Time(number)
		if !ok {
			break
		}
		r.Next = append(r.Next, at)
	}
	if least := s.Least(); d.Estimate.Known >= least && r.Total != 1 {
		r.Overrun = fmt.Sprintf("one repetition takes about %s plus preparation, and the next is due after %s: those that are due meanwhile are skipped and counted; make the schedule's intervals longer, or measure less",
			num.Seconds(d.Estimate.Known.Seconds()), unit.Duration(least))
	}
	d.Schedule = r
	return nil
}
