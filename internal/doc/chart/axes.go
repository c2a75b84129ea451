package chart

import (
	"slices"
	"strconv"
)

// grid draws a line per tick: of y, or of x where y has rows or none.
func (p *plot) grid() {
	if p.y.Kind == Rows || p.Y.NoGrid {
		for _, t := range p.x.ticks() {
			if p.x.Kind != Rows {
				p.line("grid", pct(t.share), p.top, pct(t.share), p.top+p.Height)
			}
		}
		return
	}
	for _, t := range p.y.ticks() {
		kind := "grid"
		if t.zero {
			kind = "zero"
		}
		y := p.top + p.Height*(1-t.share)
		p.line(kind, px(0), y, pct(1), y)
	}
}

// labelRoom is what the names of rows side by side may take together, in
// characters: a plot on a narrow screen is about 260 pixels wide.
const labelRoom = 36

// NamesFit reports whether the names of rows side by side fit below a plot;
// otherwise they are numbered from 1, or, where they are numbers, as hours are,
// some of them are left out.
func NamesFit(rows []Row) bool {
	longest := 0
	for _, r := range rows {
		longest = max(longest, len([]rune(r.Name)))
	}
	return (longest+2)*len(rows) <= labelRoom
}

// xTicks writes the labels below a plot. Those at the ends stand inside, so
// that they do not leave the drawing; of many, not all are written.
func (p *plot) xTicks(baseline float64) {
	if p.X.Hidden {
		return
	}
	ticks := p.x.ticks()
	if p.x.Kind == Rows && !p.cells() && !NamesFit(p.X.Rows) {
		every := thin(len(ticks), 10)
		numbers := !slices.ContainsFunc(p.X.Rows, func(r Row) bool { _, err := strconv.Atoi(r.Name); return err != nil || len(r.Name) > 4 })
		for i, t := range ticks {
			shown := i%every == 0
			if !numbers {
				t.text, shown = strconv.Itoa(i+1), i == 0 && every > 3 || (i+1)%every == 0
			}
			if shown {
				p.text("tick", middle, pct(t.share), baseline, t.text)
			}
		}
		return
	}
	until := 0.0 // where the label before ends, on a narrow screen
	few := 0 < p.X.TickCount && p.X.TickCount <= 2 && !p.X.Tight
	for i, t := range ticks {
		// Signs and units make labels long: of many ticks every other one has
		// one, and those at the ends where one or two were wanted.
		if p.X.Signed && len(ticks) > 6 && i%2 != 0 || few && i > 0 && i < len(ticks)-1 {
			continue
		}
		a, wide := middle, room(t.text)
		from := t.share - wide/2
		switch {
		case p.x.Kind == Rows || p.single() && !p.X.Signed:
		case t.share < 0.03:
			a, from = start, t.share
		case t.share > 0.97:
			a, from = end, t.share-wide
		}
		// Those inside are in the way of the ones beside them.
		if p.x.Kind != Rows && !few && (i == 1 || i == len(ticks)-1) && from < until {
			continue
		}
		until = from + wide
		p.text(tickClass(t), a, pct(t.share), baseline, t.text)
	}
}

func tickClass(t tick) string {
	if t.role == Limit {
		return "tick strong"
	}
	return "tick"
}

// yAxis draws the labels left of a plot, and returns how wide they are.
func (p *plot) yAxis(height float64) (markup string, width float64) {
	var d canvas
	width = yAxisWidth
	ticks, every := p.y.ticks(), 1
	switch {
	case p.y.Kind != Rows:
	case !p.cells():
		width = namesWidth
		every = thin(len(ticks), int(p.Height/14))
	case slices.ContainsFunc(ticks, func(t tick) bool { return len([]rune(t.text)) > int(width/7.2) }):
		width = namesWidth
	}
	for i, t := range ticks {
		y := 1 - t.share
		if p.y.Kind == Rows {
			y = t.share
		}
		if i%every == 0 {
			d.text(tickClass(t), end, px(width-7), p.top+p.Height*y+4, shorten(t.text,
				int(width/7.2))) // 4: half the height of a digit
		}
	}
	return d.svg("yaxis", "", width, height), width
}

// shorten cuts a name to n characters.
func shorten(name string, n int) string {
	if r := []rune(name); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return name
}
