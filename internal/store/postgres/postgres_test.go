package postgres_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/scalebench/scalebench/internal/store"
	"github.com/scalebench/scalebench/internal/store/postgres"
	"github.com/scalebench/scalebench/test/servers/pgtest"
	"github.com/scalebench/scalebench/test/storetest"
)

func TestConformance(t *testing.T) {
	srv := pgtest.Start(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	storetest.Run(t, func(testing.TB) func() (store.Store, error) {
		url := srv.Database()
		return func() (store.Store, error) { return postgres.Open(context.Background(), url) }
	})
}
