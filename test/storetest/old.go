package storetest

import (
	"context"
	_ "embed"
	"encoding/json"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// version1 is a run as the program with schema version 1 exported it.
//
//go:embed testdata/version1.json
var version1 []byte

// CheckVersion1 fails the test unless a store that was written with schema
// version 1, and brought to the present version when it was opened, has its
// run as it was, and takes what is new since.
func CheckVersion1(t *testing.T, s store.Store) {
	t.Helper()
	var want model.RunData
	must(t, json.Unmarshal(version1, &want))
	got, err := s.Data(context.Background(), want.Run.ID)
	must(t, err)
	diff(t, "the old run", want, got)

	_, err = s.BeginAttempt(context.Background(), want.Steps[0].ID)
	must(t, err)
	added := New(1, 2, 1).Result(0, 1, 2)
	if stored, err := s.PutResult(context.Background(), added); !stored || err != nil {
		t.Fatalf("PutResult into the old store = %v, %v, want true, nil", stored, err)
	}
	got, err = s.Data(context.Background(), want.Run.ID)
	must(t, err)
	diff(t, "results", append(want.Results, added), got.Results)
}
