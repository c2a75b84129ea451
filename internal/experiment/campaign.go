package experiment

import (
	"fmt"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/schedule"
)

// ScheduleOf is the schedule of a campaign, from its file and the bounds that it
// got when it was made, or extended.
func ScheduleOf(c model.Campaign, kinds Kinds) (*schedule.Schedule, error) {
	exp, err := Parse(c.SourceName, []byte(c.Source), kinds, nil)
	if err != nil {
		return nil, fmt.Errorf("reading the stored experiment file of campaign %s: %w", c.ID, err)
	}
	if exp.Schedule == nil {
		return nil, fmt.Errorf("the stored experiment file of campaign %s has no schedule", c.ID)
	}
	return schedule.New(*exp.Schedule, c.Begin, c.End, c.Seed)
}
