package sqlite

import (
	"context"
	"errors"
	"time"
)

// OpenWaiting is Open with another time to wait for locks.
func OpenWaiting(ctx context.Context, path string, busy time.Duration) (*Store, error) {
	return open(ctx, path, busy)
}

// WriterSettings returns the settings of the connection that writes.
func WriterSettings(ctx context.Context, path string) (settings map[string]string, err error) {
	path, err = prepareFile(path)
	if err != nil {
		return nil, err
	}
	write, read, err := openPools(path, busyTimeout)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, read.Close(), write.Close()) }()
	if err := check(ctx, write, path, busyTimeout); err != nil {
		return nil, err
	}
	settings = make(map[string]string)
	for _, name := range []string{"journal_mode", "synchronous", "foreign_keys"} {
		var value string
		if err := write.QueryRowContext(ctx, "PRAGMA "+name).Scan(&value); err != nil {
			return nil, err
		}
		settings[name] = value
	}
	return settings, nil
}
