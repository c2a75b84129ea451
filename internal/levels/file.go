package levels

import (
	"encoding/json"
	"errors"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// Model is a file of expected service levels. The levels of a service are the least of
// its limits.
type Model struct {
	Name    string           `json:"model" jsonschema:"required,format=scalebench-name"`
	About   string           `json:"about,omitempty"`
	Service Service          `json:"service,omitempty" jsonschema:"enum=volume,enum=network,enum=cpu"` // default: volume
	Scope   Scope            `json:"scope,omitempty" jsonschema:"enum=volume,enum=node"`               // default: volume
	Source  Source           `json:"source,omitzero"`
	Inputs  map[string]Input `json:"inputs,omitempty"`
	Limits  []Limit          `json:"limits,omitempty"`
	Kept    *Kept            `json:"kept,omitempty"`
	Cells   []Cell           `json:"cells,omitempty"`

	limits []limit
}

// Source is where the numbers come from, and the day on which they were read there.
type Source struct {
	Title string `json:"title" jsonschema:"required,minLength=1"`
	URL   string `json:"url,omitempty"`
	Read  string `json:"read,omitempty" jsonschema:"format=scalebench-time"`
}

// Input is what a service was rented with. It is a number above 0, or, if choices are
// made by it, one of their words.
type Input struct {
	About string `json:"about,omitempty"`
	// Unit is that of numbers which are given without one: MiB, MB. Such an input is in
	// bytes, or bytes a second.
	Unit    string `json:"unit,omitempty"`
	Min     Term   `json:"min,omitzero"`
	Max     Term   `json:"max,omitzero"`
	Default Amount `json:"default,omitzero"` // none: limits that need it are left out

	low, high amountAt // its bounds; nil: it is a word
}

// Limit is one limit of a file.
type Limit struct {
	Quality  Quality     `json:"of" jsonschema:"required,enum=ops,enum=bytes,enum=cpu,enum=metric"`
	Label    string      `json:"name,omitempty" jsonschema:"format=scalebench-name"`
	Ways     Ways        `json:"ways,omitzero"`
	Unit     unit.Size   `json:"unit,omitzero"`
	Unmerged bool        `json:"unmerged,omitempty"`
	Scope    Scope       `json:"scope,omitempty" jsonschema:"enum=node"` // default: that of the model
	Rate     Rate        `json:"rate" jsonschema:"required"`
	Bucket   *FileBucket `json:"bucket,omitempty"`
}

// Ways are the directions of a limit: joint, or, with the word each, one limit for each.
// Default: both, joint.
type Ways struct {
	Each  string `json:"-" plain:"true" jsonschema:"enum=each"`
	Joint []Way  `json:"-" plain:"true" jsonschema:"minItems=1,uniqueItems,enum=read,enum=write"`
}

// FileBucket is a token bucket of a file.
type FileBucket struct {
	Burst Rate          `json:"burst" jsonschema:"required"`
	Size  Rate          `json:"size,omitzero"`  // or
	For   unit.Duration `json:"for,omitzero"`   // how long it lasts from full at the burst rate
	Fill  Rate          `json:"fill,omitzero"`  // default: the limit's rate
	Start Amount        `json:"start,omitzero"` // full, empty, or a share; default: not known
}

// Rate is how a level follows from the inputs: a [Term] or a [Table].
type Rate struct {
	Term
	Table
}

// Table has a term for each step of a number or each choice by a word; or it is a
// distribution.
type Table struct {
	By      string             `json:"by,omitempty"`      // an input; default of steps: gib
	Steps   map[string]Term    `json:"steps,omitempty"`   // up to this number; "above": beyond the last
	Choices map[string]Term    `json:"choices,omitempty"` // of this word
	Values  map[string]float64 `json:"values,omitempty"`  // shares of levels
}

// Term is clamp(base + per_gib·gib + per_op·iops, min, max), or an amount alone.
type Term struct {
	Value  Amount `json:"-" plain:"true"`
	Base   Amount `json:"base,omitzero"`
	PerGiB Amount `json:"per_gib,omitzero"`
	PerOp  Amount `json:"per_op,omitzero"`
	Min    Amount `json:"min,omitzero"`
	Max    Amount `json:"max,omitzero"`
}

// Amount is a number; or a text: an amount with a unit, such as 60MiB/s, the name of an
// input, none for no limit, or unknown.
type Amount struct {
	Number float64 `json:"-" plain:"true" jsonschema:"exclusiveMinimum=0"`
	Text   string  `json:"-" plain:"true" jsonschema:"minLength=1"`
}

// Words in place of amounts.
const (
	none    = "none"
	unknown = "unknown"
	above   = "above" // in place of the number of a step
	full    = "full"
	empty   = "empty"
)

// String is the amount as it stands in a file; empty: there is none.
func (a Amount) String() string {
	if a.Text == "" && a.Number != 0 {
		return num.Digits(a.Number, 15)
	}
	return a.Text
}

// MarshalJSON implements json.Marshaler.
func (a Amount) MarshalJSON() ([]byte, error) {
	if a.Text != "" {
		return json.Marshal(a.Text)
	}
	return json.Marshal(a.Number)
}

// MarshalJSON implements json.Marshaler.
func (t Term) MarshalJSON() ([]byte, error) {
	if t.Value != (Amount{}) {
		return json.Marshal(t.Value)
	}
	type keys Term
	return json.Marshal(keys(t))
}

// MarshalJSON implements json.Marshaler.
func (r Rate) MarshalJSON() ([]byte, error) {
	if r.Term != (Term{}) {
		return json.Marshal(r.Term)
	}
	return json.Marshal(r.Table)
}

// MarshalJSON implements json.Marshaler.
func (w Ways) MarshalJSON() ([]byte, error) {
	if w.Each != "" {
		return json.Marshal(w.Each)
	}
	return json.Marshal(w.Joint)
}

// refuse adds what is wrong with an input to an error.
func refuse(err error, path, problem, allowed string) error {
	return errors.Join(err, &model.InputError{Path: path, Problem: problem, Allowed: allowed})
}
