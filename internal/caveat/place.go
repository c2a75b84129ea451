package caveat

// Place is a part of a result that has caveats: pointers to two of its fields.
type Place struct {
	// About is what the part is about. Only disturbances of this workload are added;
	// zero: all of them.
	About Subject
	// Own: no disturbances are added; what was found has what matters.
	Own bool
	// Caveats are the caveats that were found. The platform adds disturbances and
	// makes the texts.
	Caveats *List
	// Warnings are set to the texts, each once; nil: the result has no place for them.
	Warnings *[]Text
}

// FillPlace makes the texts of a place.
func (t Table) FillPlace(p Place) {
	t.Fill(p.About, *p.Caveats)
	if p.Warnings != nil {
		*p.Warnings = p.Caveats.Texts()
	}
}
