package postgres

import (
	"context"
	"testing"
)

// SynchronousCommit returns the setting that a store's connections have.
func SynchronousCommit(t *testing.T, url string) (value string) {
	t.Helper()
	target, err := parseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	db := openPool(target)
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := db.QueryRowContext(context.Background(), "SHOW synchronous_commit").Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}
