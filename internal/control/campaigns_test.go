package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/answer"
	"github.com/scalebench/scalebench/internal/control"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store/sqlite"
	"github.com/scalebench/scalebench/internal/unit"
)

// TestImpossibleChanges: no request makes of a campaign what none can be.
func TestImpossibleChanges(t *testing.T) {
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c := model.Campaign{ID: "01KB0000000000000000000000", Name: "c", State: model.CampaignActive, Source: "s", Server: "a", Created: now, Begin: now, End: now.Add(time.Hour)}
	if err := st.PutCampaign(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]control.CampaignChange{
		"a state that there is not":  {State: "lost"},
		"done by request":            {State: model.CampaignDone},
		"an end before its time":     {Until: now.Add(-time.Second)},
		"a negative time":            {Longer: unit.Duration(-time.Minute)},
		"an end that cannot be kept": {Until: time.Date(2250, 1, 1, 0, 0, 0, 0, time.UTC)},
		"longer than can be kept":    {Longer: unit.Duration(250 * 365 * 24 * time.Hour)},
		"deleted while it goes on":   {Delete: true},
	} {
		x.ID = "c"
		if _, err := control.ChangeStored(t.Context(), st, x, "b", now); !errors.Is(err, model.ErrUsage) {
			t.Errorf("%s: %v, want a usage error", name, err)
		}
	}
	got, err := st.Campaign(t.Context(), "c")
	if err != nil || got.State != c.State || !got.End.Equal(c.End) || got.Server != c.Server {
		t.Errorf("the campaign became %+v, %v", got, err)
	}
}

// bound notes how long calls may last.
type bound struct{ most map[string]time.Duration }

func (b bound) Call(ctx context.Context, verb string, _ []byte) ([]byte, error) {
	if until, ok := ctx.Deadline(); ok {
		b.most[verb] = time.Until(until)
	}
	return json.Marshal(struct{}{})
}

func (bound) Events(context.Context, model.RunID) (<-chan model.Event, error) { return nil, nil }

// TestAnswersHaveTime: a server that analyses a year has more than the ten seconds
// of other calls.
func TestAnswersHaveTime(t *testing.T) {
	b := bound{make(map[string]time.Duration)}
	if _, err := control.NewRemote(b).Answer(t.Context(), answer.Question{}); err != nil {
		t.Fatal(err)
	}
	if b.most["answer"] < time.Minute {
		t.Errorf("an answer may take %v", b.most["answer"])
	}
}
