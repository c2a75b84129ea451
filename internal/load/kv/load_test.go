package kv_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/kv"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/kvtest"
)

// mute is a store that lets everybody in and does not answer the first
// question.
type mute struct{ *kvtest.Memory }

type muteAdmin struct{ kv.Admin }

func (m mute) Admin(ctx context.Context) (kv.Admin, error) {
	a, err := m.Memory.Admin(ctx)
	return muteAdmin{a}, err
}

func (muteAdmin) Find(ctx context.Context) (string, error) {
	<-ctx.Done()
	return "", &load.Error{Kind: load.ErrTimeout, Err: ctx.Err()}
}

// TestWithin: a store that falls silent after the login is not waited for; who
// is called off meanwhile hears of that and not of the store.
func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, begin := mute{kvtest.NewMemory()}, time.Now()
		_, err := kv.Load(t.Context(), store, kv.DefaultDataset(), 3*time.Second)
		if !errors.Is(err, model.ErrUnavailable) || !strings.Contains(err.Error(), "did not answer within 3s") || time.Since(begin) != 3*time.Second {
			t.Errorf("Load = %v after %v", err, time.Since(begin))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = kv.Loaded(ctx, store, kv.DefaultDataset(), 3*time.Second)
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, model.ErrUnavailable) {
			t.Errorf("Loaded = %v, want what ended it", err)
		}
	})
}
