package caveat

// Place is a part of a result that has caveats: pointers to two of its fields.
type Place struct {
	// About is what the part is about. Only disturbances of this workload are added;
	// zero: all of them.
	About Subject
	// Own: no disturbances are added. It is for parts of a result that stand in another
	// place, too, and for sources whose frames have their disturbances.
	Own bool
	// Caveats are the caveats that were found. The platform adds disturbances and
	// makes the texts.
	Caveats *List
	// Warnings are set to the texts, each once; nil: the result has no place for them.
	Warnings *[]Text
}

// Notes are the caveats of a whole result, with their texts: a result with one place
// embeds them.
type Notes struct {
	Warnings []Text `json:"warnings"` // the texts of Doubts
	Doubts   List   `json:"doubts"`
}

// Places are that of the whole result.
func (n *Notes) Places() []Place { return []Place{{Caveats: &n.Doubts, Warnings: &n.Warnings}} }

// FillPlace makes the texts of a place. Its lists are never nil afterwards: contracts have
// arrays.
func (t Table) FillPlace(p Place) {
	if *p.Caveats == nil {
		*p.Caveats = List{}
	}
	t.Fill(p.About, *p.Caveats)
	if p.Warnings != nil {
		*p.Warnings = p.Caveats.Texts()
	}
}
