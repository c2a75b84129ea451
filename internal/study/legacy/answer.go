package legacy

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study"
)

// adapter is a [Study] as a study.Study.
type adapter struct{ study Study }

// Parameters are those of the study; see study.Parameters.
func (a *adapter) Parameters() any { return a.study }

// Check implements study.Study.
func (a *adapter) Check() ([]caveat.Caveat, error) {
	if err := a.study.Validate(); err != nil {
		return nil, err
	}
	var out []caveat.Caveat
	if n, ok := a.study.(Noter); ok {
		for _, note := range n.Notes() {
			out = append(out, noted.Warn(struct{ Text caveat.Verbatim }{caveat.Verbatim(note)}))
		}
	}
	return out, nil
}

// Answer implements study.Study.
func (a *adapter) Answer(ctx context.Context, in study.Input) (*study.Answer, error) {
	old := Input{Run: in.Run(), Open: in.Open, Campaign: in.Campaign, Tolerance: in.Common.Tolerance,
		Progress: in.Progress, Runs: in.Runs}
	var r Result
	var err error
	switch x := a.study.(type) {
	case Measured:
		if in.Sources == nil {
			r, err = x.Analyze(ctx, old)
		} else {
			r, err = x.Ask(ctx, old, in.Sources)
		}
	default:
		if in.Table == nil {
			r, err = x.Analyze(ctx, old)
		} else {
			importer, _ := x.(Importer) // or Kind.Table is not set
			r, err = importer.Import(ctx, old, in.Table.Name, in.Table)
		}
	}
	if err != nil {
		return nil, err
	}
	told := &result{of: r}
	out := &study.Answer{Result: told, Places: []caveat.Place{{Caveats: &told.caveats}}, Gate: r.Gate(),
		Document: told.document}
	if s, ok := r.(Silent); ok {
		out.Silent = s.Silent()
	}
	return out, nil
}

// result is a [Result] with what disturbed the nodes of its runs, which has no
// place in it.
type result struct {
	of      Result
	caveats caveat.List
}

// doubts are the disturbances as results of this contract have them.
func (r *result) doubts() []model.Doubt {
	out := caveat.Doubts(r.caveats)
	for i, c := range r.caveats {
		if c.Run != "" { // the answer is about another run's
			out[i].Workload = ""
		}
	}
	return out
}

// MarshalJSON implements json.Marshaler: the result with the disturbances.
func (r *result) MarshalJSON() ([]byte, error) {
	b, err := encode(r.of)
	if err != nil {
		return nil, err
	}
	return doubtResult(b, r.doubts())
}

func (r *result) document() *doc.Document {
	d := r.of.Document()
	DoubtDocument(d, r.doubts())
	return d
}

// encode is json.Marshal that leaves "<", ">" and "&" as they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}
