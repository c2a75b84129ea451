package explain

import "slices"

// Slots are mean and COV of each hour of the day, or each weekday, in their order
// (the paper, Fig. 12).
type Slots struct {
	Fact string `json:"fact"` // FactHour or FactWeekday
	// By is another fact, whose levels are apart. Empty: there is one level with all rows.
	By     string       `json:"by,omitempty"`
	Levels []SlotsLevel `json:"levels"`
}

// SlotsLevel is one level of the other fact.
type SlotsLevel struct {
	Level string `json:"level,omitempty"`
	Slots []Slot `json:"slots"` // those with rows
}

// Slot is one hour or weekday.
type Slot struct {
	Slot  string    `json:"slot"`
	Place int       `json:"-"` // in the day or week, from 0
	N     int       `json:"n"`
	Mean  float64   `json:"mean"`
	COV   *float64  `json:"cov"`
	COVCI *Interval `json:"cov_ci"`
}

// leastSlots is how many hours or weekdays are worth a comparison.
const leastSlots = 3

// mostSlots is how many hours a day has. A user's own column of hours may count on.
const mostSlots = 24

// MostSlotLevels is how many levels the other fact has at most.
const MostSlotLevels = mostGroups

// Slots divides the rows by hour or weekday; by another fact as well, unless that is nil.
// There are none of fewer than three or more than 24, and of too many levels.
func (x *Rows) Slots(name string, by *Fact) *Slots {
	fact := x.Fact(name)
	if fact == nil || fact.Used < leastSlots || len(fact.Levels) > mostSlots+1 || by != nil && by.Used > MostSlotLevels {
		return nil
	}
	out := &Slots{Fact: name}
	if by == nil {
		out.Levels = []SlotsLevel{{Slots: slotsOf(fact, x.groups(fact))}}
		return out
	}
	both, levels := crossed(fact, by)
	groups, width := x.groups(both), len(fact.Levels)-1
	out.By = by.Name
	for i, level := range levels {
		out.Levels = append(out.Levels, SlotsLevel{level, slotsOf(fact, groups[i*width:(i+1)*width+1])})
	}
	return out
}

// Varies reports whether any slot has a COV.
func (s *Slots) Varies() bool {
	return slices.ContainsFunc(s.Levels, func(l SlotsLevel) bool {
		return slices.ContainsFunc(l.Slots, func(s Slot) bool { return s.COV != nil })
	})
}

// slotsOf are the groups by code of the fact, of which 0 is that of rows in none.
func slotsOf(fact *Fact, groups []Group) []Slot {
	var out []Slot
	for i, g := range groups[1:] {
		if g.N > 0 {
			out = append(out, Slot{fact.Levels[i+1], i, g.N, g.Mean, g.COV, g.COVCI})
		}
	}
	return out
}

// crossed is a fact with a level for each level of one fact at each used level of
// another. Those of the first used level come first.
func crossed(fact, by *Fact) (both *Fact, levels []string) {
	width := len(fact.Levels) - 1
	both = &Fact{}
	both.Codes = make([]uint16, len(fact.Codes))
	first := make(map[uint16]int, by.Used) // code before the first of a level
	for i, c := range by.Codes {
		if c == 0 || fact.Codes[i] == 0 {
			continue
		}
		from, known := first[c]
		if !known {
			from = len(levels) * width
			first[c], levels = from, append(levels, by.Levels[c])
		}
		both.Codes[i] = uint16(from) + fact.Codes[i] //nolint:gosec // 24 times MostSlotLevels at most
	}
	both.Levels = make([]string, len(levels)*width+1)
	return both, levels
}
