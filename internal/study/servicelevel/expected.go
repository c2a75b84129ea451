package servicelevel

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/levels"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study"
)

// labModel is the model of a lab's volumes.
const labModel = "lab"

// levelsOf are those of the i-th of the models that the user named.
func (p *Params) levelsOf(i int) (levels.Levels, error) {
	x := p.Models[i]
	path := fmt.Sprintf("models.%d", i)
	m, err := p.find(path+".model", x.Model)
	if err != nil {
		return levels.Levels{}, err
	}
	out, err := m.Levels(inputs(x.Inputs))
	for _, one := range model.Single(err) {
		if bad, ok := errors.AsType[*model.InputError](one); ok {
			bad.Path = path + ".inputs." + bad.Path
		}
	}
	return out, err
}

// find returns the model that a key of the study names: the user's own, or one that comes
// with the program.
func (p *Params) find(key, name string) (*levels.Model, error) {
	if p.ModelFile != "" {
		own, err := levels.Parse("model-file", []byte(p.ModelFile))
		if err != nil || own.Name == name {
			return own, err
		}
	}
	m, err := levels.Find(name)
	if err != nil {
		return nil, refuse(key, fmt.Sprintf("there is no model %q", name),
			"`scalebench servicelevel models` lists them; --model-file names a file")
	}
	return m, nil
}

// inputs are values of a file as texts. Whole numbers have no exponent.
func inputs(values map[string]any) map[string]string {
	out := make(map[string]string, len(values))
	for key, v := range values {
		if x, ok := v.(float64); ok {
			out[key] = strconv.FormatFloat(x, 'f', -1, 64)
			continue
		}
		out[key] = fmt.Sprint(v)
	}
	return out
}

// expectation is what may be expected of a volume of a node: all limits that apply, of
// which the least counts.
type expectation []levels.Levels

// expect collects the models that apply. lab are the inputs of the lab's model; they
// count where the user named no model for the volume.
func (p *Params) expect(n model.Node, volume string, lab map[string]any) (expectation, error) {
	var out expectation
	for i, x := range p.Models {
		if x.Volume != "" && x.Volume != volume || !n.Has(x.On) {
			continue
		}
		l, err := p.levelsOf(i)
		if err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	if len(out) > 0 || len(lab) == 0 {
		return out, nil
	}
	m, err := p.find("models", labModel)
	if err != nil {
		return nil, err
	}
	l, err := m.Levels(inputs(lab))
	return expectation{l}, err
}

// labInputs are the inputs of the lab's model, of a volume that a lab made.
func labInputs(v study.Volume) map[string]any {
	in := make(map[string]any)
	if v.IOPS > 0 {
		in["iops"] = v.IOPS
	}
	if v.Bandwidth > 0 { // with its unit: that of a bare number is up to the model
		in["bandwidth"] = strconv.FormatFloat(v.Bandwidth, 'f', -1, 64) + "B/s"
	}
	return in
}

// Expected is what a model expects of a cell.
type Expected struct {
	Ops   float64 `json:"ops"`   // operations a second
	Bytes float64 `json:"bytes"` // bytes a second
	// Limits are those that bind, by name: "ops", "bytes.write".
	Limits []string `json:"limits"`

	bytes bool         // one of them is of bytes
	ways  []levels.Way // of those that are of reads or of writes alone
}

// at is what is expected of a cell; nil where no model says it.
func (e expectation) at(c Cell) *Expected {
	var out *Expected
	for _, l := range e {
		x := l.At(float64(c.Size), c.share())
		if out != nil && out.Ops <= x.Ops || !num.Finite(x.Ops) {
			continue
		}
		out = &Expected{Ops: x.Ops, Bytes: x.Bytes}
		for _, i := range x.Limits {
			lim := l.Limits[i]
			out.Limits, out.bytes = append(out.Limits, lim.Name()), out.bytes || lim.Quality == levels.Bytes
			if len(lim.Ways) == 1 {
				out.ways = append(out.ways, lim.Ways[0])
			}
		}
	}
	return out
}

// nodeOf is the node of that name; one that is not known has no labels.
func nodeOf(nodes []model.Node, id model.NodeID) model.Node {
	for _, n := range nodes {
		if n.ID == id {
			return n
		}
	}
	return model.Node{ID: id}
}
