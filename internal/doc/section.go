package doc

// AddSection adds a section to a document.
func (d *Document) AddSection(id, title, intro string, where Show, blocks ...Block) {
	d.Sections = append(d.Sections, Section{ID: id, Title: title, Intro: intro, Show: where, Blocks: blocks})
}
