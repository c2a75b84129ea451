package storetest

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// old has a run as the program with each of these schema versions read it from
// its own store.
//
//go:embed testdata/version1.json testdata/version3.json
var old embed.FS

// Old returns the run that is in the old stores of a schema version.
func Old(t testing.TB, version int) (d model.RunData) {
	t.Helper()
	raw, err := old.ReadFile(fmt.Sprintf("testdata/version%d.json", version))
	must(t, err)
	must(t, json.Unmarshal(raw, &d))
	return d
}

// CheckOld fails the test unless a store that was written with a schema
// version, and brought to the present one when it was opened, has its run as it
// was, and takes what is new since.
func CheckOld(t *testing.T, s store.Store, version int) {
	t.Helper()
	want := Old(t, version)
	got, err := s.Data(context.Background(), want.Run.ID)
	must(t, err)
	diff(t, "the old run", want, got)

	step := want.Steps[0]
	attempt, err := s.BeginAttempt(context.Background(), step.ID)
	must(t, err)
	added := New(1, 1, 1).Result(0, 0, attempt)
	added.Run, added.Step, added.Task, added.Node = want.Run.ID, step.ID, step.Tasks[1].ID, step.Tasks[1].Node
	if stored, err := s.PutResult(context.Background(), added); !stored || err != nil {
		t.Fatalf("PutResult into the old store = %v, %v, want true, nil", stored, err)
	}
	got, err = s.DataFrom(context.Background(), want.Run.ID, 0)
	must(t, err)
	var results []model.Result
	for _, r := range got.Results {
		if r.Task != added.Task || r.Attempt != attempt {
			results = append(results, r)
		} else {
			diff(t, "the result that was added", added, r)
		}
	}
	diff(t, "the old results", want.Results, results)
	e := env{ctx: context.Background(), s: s}
	c := newCampaign(1)
	must(t, s.PutCampaign(e.ctx, c))
	rep, _ := e.repeat(t, c, 1)
	diff(t, "repetitions", []model.Repetition{rep}, e.repetitions(t, c.ID, 0))
	if len(got.Results) != len(want.Results)+1 {
		t.Errorf("%d results, want one more than the %d old ones", len(got.Results), len(want.Results))
	}
}
