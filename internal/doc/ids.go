package doc

import "strings"

// Under puts a name before all IDs of the document but [Reading], and before
// the links to them, so that it can stand in one document with others.
func (d *Document) Under(name string) {
	id := func(s *string) {
		if *s != "" && *s != Reading {
			*s = name + "-" + *s
		}
	}
	href := func(s *string) {
		if to, ok := strings.CutPrefix(*s, "#"); ok {
			id(&to)
			*s = "#" + to
		}
	}
	for _, w := range d.Warnings {
		for i := range w.Links {
			href(&w.Links[i].Href)
		}
	}
	for i := range d.Sections {
		id(&d.Sections[i].ID)
		blocks(d.Sections[i].Blocks, id, href)
	}
}

// blocks calls id for all IDs in blocks, href for all links.
func blocks(all []Block, id, href func(*string)) {
	for _, b := range all {
		switch {
		case b.Table != nil:
			for _, r := range b.Table.Rows {
				for i := range r.Cells {
					href(&r.Cells[i].Href)
				}
			}
		case b.Figure != nil:
			for _, p := range b.Figure.Panels {
				for i := range p.Chart.Y.Rows {
					href(&p.Chart.Y.Rows[i].Href)
				}
			}
		case b.Fold != nil:
			id(&b.Fold.ID)
			blocks(b.Fold.Blocks, id, href)
		case b.Part != nil:
			id(&b.Part.ID)
			blocks(b.Part.Blocks, id, href)
		}
	}
}
