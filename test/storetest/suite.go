// Package storetest is the conformance suite of store.Store: what the code
// above relies on, checked against every implementation.
package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// Fresh makes an empty place for a store, different at each call, and returns
// the function that opens it. Opened twice, a place has two stores on the same
// data, as two processes have.
type Fresh func(t testing.TB) (open func() (store.Store, error))

// testTimeout ends a test that waits for a store that does not answer.
const testTimeout = 2 * time.Minute

// Run runs the suite.
func Run(t *testing.T, fresh Fresh) {
	tests := []struct {
		name string
		test func(*testing.T, env)
	}{
		{"RoundTrip", testRoundTrip},
		{"DataFrom", testDataFrom},
		{"Heads", testHeads},
		{"Columns", testColumns},
		{"ColumnsEnd", testColumnsEnd},
		{"RoundTripExtremes", testExtremes},
		{"RoundTripText", testText},
		{"NothingYet", testNothingYet},
		{"CreateRun", testCreateRun},
		{"CreateRunAllOrNothing", testCreateRunAtomic},
		{"AddSteps", testAddSteps},
		{"RunState", testRunState},
		{"RunLookup", testRunLookup},
		{"Runs", testRuns},
		{"RunsFiltered", testRunsFiltered},
		{"RunNodes", testRunNodes},
		{"Steps", testSteps},
		{"Duplicate", testDuplicate},
		{"Stale", testStale},
		{"WrongTask", testWrongTask},
		{"NotFinite", testNotFinite},
		{"OnlyGoodOnesOfABatch", testMixedBatch},
		{"ConcurrentSameResult", testConcurrentSame},
		{"ConcurrentResults", testConcurrentMany},
		{"ConcurrentBeginAttempt", testConcurrentBegin},
		{"ResultAgainstBeginAttempt", testPutAgainstBegin},
		{"ResultAgainstDelete", testPutAgainstDelete},
		{"BigSeries", testBigSeries},
		{"Artifacts", testArtifacts},
		{"Events", testEvents},
		{"Jobs", testJobs},
		{"JobItems", testItems},
		{"ConcurrentJobs", testConcurrentJobs},
		{"Delete", testDelete},
		{"Fleet", testFleet},
		{"Campaigns", testCampaigns},
		{"CampaignLookup", testCampaignLookup},
		{"Servers", testServers},
		{"Repetitions", testRepetitions},
		{"ConcurrentRepetitions", testConcurrentRepetitions},
		{"Measured", testMeasured},
		{"DeleteCampaigns", testDeleteCampaigns},
		{"RunsOfCampaigns", testRunsOfCampaigns},
		{"Reopen", testReopen},
		{"Cancelled", testCancelled},
		{"Closed", testClosed},
	}
	t.Run("OpenAtOnce", func(t *testing.T) { testOpenAtOnce(t, fresh(t)) })
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, newEnv(t, fresh(t))) })
	}
}

// env is what a test of the suite works with.
type env struct {
	ctx  context.Context
	s    store.Store
	open func() store.Store // the same place again
}

func newEnv(t *testing.T, open func() (store.Store, error)) env {
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	e := env{ctx: ctx, open: func() store.Store {
		t.Helper()
		s, err := open()
		if err != nil {
			t.Fatalf("opening the store: %v", err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Errorf("closing the store: %v", err)
			}
		})
		return s
	}}
	e.s = e.open()
	return e
}

// data reads a run.
func (e env) data(t *testing.T, s store.Store, id model.RunID) model.RunData {
	t.Helper()
	d, err := s.Data(e.ctx, id)
	if err != nil {
		t.Fatalf("Data(%s): %v", id, err)
	}
	return d
}

// start stores a fixture and begins the first attempt at every step.
func (e env) start(t *testing.T, f Fixture) {
	t.Helper()
	if err := f.Start(e.ctx, e.s); err != nil {
		t.Fatal(err)
	}
}

// put stores a result that must be new.
func (e env) put(t *testing.T, r model.Result) {
	t.Helper()
	if stored, err := e.s.PutResult(e.ctx, r); !stored || err != nil {
		t.Fatalf("PutResult(%s#%d) = %v, %v, want true, nil", r.Task, r.Attempt, stored, err)
	}
}

// must fails the test on an error of a call that has to succeed.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// diff fails the test when two values differ.
func diff(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := difference(want, got); d != "" {
		t.Errorf("%s differs (-want +got):\n%s", what, d)
	}
}

// difference compares as a reader of the store would: nil and empty are the
// same, and times are equal when they are the same instant.
func difference(want, got any) string { return cmp.Diff(want, got, cmpopts.EquateEmpty()) }
