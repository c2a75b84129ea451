package kv

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// inTime does what a store that is up does at once. One that accepts the
// connection and then says nothing would be waited for without end: after so
// long the error says that, and is model.ErrUnavailable. 0 is no bound.
func inTime[T any](ctx context.Context, within time.Duration, do func(context.Context) (T, error)) (T, error) {
	if within <= 0 {
		return do(ctx)
	}
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	v, err := do(bounded)
	// A socket's deadline may be noticed a moment before the context's.
	deadline, _ := bounded.Deadline()
	if err == nil || ctx.Err() != nil || time.Now().Before(deadline) || dialing(err) {
		return v, err
	}
	// What the library says of it is only that a time was over.
	return v, fmt.Errorf("%w: the store accepted the connection and did not answer within %v; is it up, and does this port belong to such a store?", model.ErrUnavailable, within)
}

// dialing reports whether no connection came about, of which the error says
// enough.
func dialing(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// openAdmin opens a connection and reads the description of the data set that
// is there, each within this time.
func openAdmin(ctx context.Context, store Store, within time.Duration) (Admin, string, error) {
	admin, err := inTime(ctx, within, store.Admin)
	if err != nil {
		return nil, "", err
	}
	description, err := inTime(ctx, within, admin.Find)
	if err != nil {
		return nil, "", errors.Join(err, admin.Close())
	}
	return admin, description, nil
}
