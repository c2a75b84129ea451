package chart

import "github.com/scalebench/scalebench/internal/doc/term"

// File is what a drawing in a file of its own shows.
type File struct {
	Title    string
	Warnings []string // below the title, each from a new line
	Words    string   // below them
	Titles   []string // of the panels; may be empty
	Note     string   // below everything
	Panels   []Chart
	// Columns is how many panels stand side by side; 0: one below the other.
	Columns int
}

// Sizes of a file in pixels: around and between panels, lines of text, and the
// columns beside rows.
const (
	leastWidth = 960
	filePad    = 20
	panelGap   = 30
	lineHeight = 18
	nameColumn = 200
	saidColumn = 305
	fileLetter = 6.9
)

// file is a file being laid out.
type file struct {
	canvas
	width, y float64
}

// SVG is a complete file, with legend and a style sheet for both themes.
func SVG(f File) string {
	out := file{width: leastWidth, y: filePad}
	for _, c := range f.Panels {
		if c.X.Kind == Rows && c.Y.Kind == Rows { // cells are wide enough for their numbers
			out.width = max(out.width, 2*filePad+yAxisWidth+cellRoom*float64(len(c.X.Rows)))
		}
	}
	if f.Title != "" {
		out.y += lineHeight
		out.text("title", start, px(filePad), out.y-4, f.Title)
	}
	for _, w := range f.Warnings {
		out.paragraph(w)
	}
	out.paragraph(f.Words)
	out.y += 8
	out.panels(f)
	out.legend(Legend(f.Panels...))
	out.paragraph(f.Note)
	out.y += filePad
	size := `width="` + decimal(out.width) + `" height="` + decimal(out.y) + `"`
	title := ""
	if f.Title != "" {
		title = `<title>` + escape(f.Title) + `</title>`
	}
	return `<svg xmlns="http://www.w3.org/2000/svg" role="img" ` + size + ` viewBox="0 0 ` + decimal(out.width) + ` ` + decimal(out.y) + `">` + title +
		`<style>` + fileStyle() + `</style>` + hatch + `<rect class="paper" ` + size + `/>` + out.b.String() + "</svg>\n"
}

// paragraph writes lines of text over the whole width.
func (f *file) paragraph(s string) {
	for _, line := range term.Wrap(s, int((f.width-2*filePad)/fileLetter)) {
		f.y += lineHeight
		f.text("soft", start, px(filePad), f.y-4, line)
	}
}

// panels lays the panels out in columns.
func (f *file) panels(of File) {
	drawings := Draw(of.Panels...)
	columns := max(of.Columns, 1)
	column := (f.width - 2*filePad - panelGap*float64(columns-1)) / float64(columns)
	for i := 0; i < len(drawings); {
		first, used, unit, top, bottom := i, 0, false, 0.0, f.y
		for ; i < len(drawings) && (i == first || used+max(of.Panels[i].Span, 1) <= columns); i++ {
			used += max(of.Panels[i].Span, 1)
			unit = unit || drawings[i].Unit != ""
			if i < len(of.Titles) && of.Titles[i] != "" {
				top = lineHeight + 4
			}
		}
		at := 0
		for k := first; k < i; k++ {
			span := min(max(of.Panels[k].Span, 1), columns)
			x := filePad + float64(at)*(column+panelGap)
			y := f.y + top
			if k < len(of.Titles) {
				f.text("words", start, px(x), y-8, of.Titles[k])
			}
			if unit {
				y += lineHeight
			}
			bottom = max(bottom, f.panel(of.Panels[k], drawings[k], x, y, float64(span)*(column+panelGap)-panelGap))
			at += span
		}
		f.y = bottom + 10
	}
}

// panel places a drawing, and returns where it ends.
func (f *file) panel(c Chart, d Drawing, x, y, width float64) float64 {
	if len(d.Rows) > 0 {
		return f.rows(c, d, x, y, width)
	}
	if d.LongUnit() {
		f.text("tick", start, px(x), y-3, d.Unit)
	} else {
		f.text("tick", end, px(x+d.yWidth-7), y-3, d.Unit)
	}
	f.place(d.Y, x, y, d.yWidth, d.height)
	x, width = x+d.yWidth, width-d.yWidth
	f.place(d.Area, x, y, width, d.height)
	y += d.height
	if d.XLabel != "" {
		y += lineHeight
		f.text("tick", middle, px(x+width/2), y-4, d.XLabel)
	}
	if d.Scale != "" {
		f.place(d.Scale, x, y+4, scaleWidth, 16)
		y += 24
	}
	return y
}

// rows places the drawings of rows with what stands beside them.
func (f *file) rows(c Chart, d Drawing, x, y, width float64) float64 {
	left, area := x+nameColumn, width-nameColumn-saidColumn
	height := d.row
	for i, r := range c.Y.Rows {
		base := y + height/2 + 4
		name := shorten(r.Name, 28)
		if r.Sub != "" {
			f.text("soft", start, px(x), base+8, shorten(r.Sub, 30))
			base -= 8
		}
		f.text("words", start, px(x), base, name)
		f.place(d.Rows[i], left, y, area, height)
		base = y + height/2 + 5
		f.text("value", end, px(left+area+112), base, r.Value)
		f.text("soft", start, px(left+area+122), base, r.Note)
		f.text("said ink "+class("label", r.Role), start, px(left+area+232), base, r.Tag)
		y += height
		for _, more := range r.More {
			for _, line := range term.Wrap(more, int((width-nameColumn)/fileLetter)) {
				f.text("soft", start, px(left), y+10, line)
				y += lineHeight
			}
		}
	}
	f.place(d.Area, left, y, area, axisHeight)
	y += axisHeight
	if d.XLabel != "" {
		y += lineHeight
		f.text("tick", middle, px(left+area/2), y-4, d.XLabel)
	}
	return y
}

// place puts a finished drawing into the file.
func (f *file) place(markup string, x, y, width, height float64) {
	if markup != "" {
		f.b.WriteString(`<svg x="` + decimal(x) + `" y="` + decimal(y) + `" width="` + decimal(width) + `" height="` + decimal(height) + `">` + markup + `</svg>`)
	}
}

// legend writes the keys side by side, as many as fit in a line.
func (f *file) legend(keys []Key) {
	x := float64(filePad)
	if len(keys) > 0 {
		f.y += lineHeight + 4
	}
	for _, k := range keys {
		wide := k.width + 8 + fileLetter*float64(len([]rune(k.Name))) + 18
		if x > filePad && x+wide > f.width-filePad {
			x = filePad
			f.y += lineHeight + 2
		}
		f.place(k.Swatch, x, f.y-14, k.width, 12)
		f.text("soft", start, px(x+k.width+8), f.y-4, k.Name)
		x += wide
	}
}
