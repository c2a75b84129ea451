package kv

import (
	"context"
	"errors"
	"time"

	"github.com/scalebench/scalebench/internal/load"
)

// Bounded is an [Admin] of a store that tells how many connections it allows.
type Bounded interface {
	// Room counts the connections of others: not this one, nor those that other
	// sessions of scalebench have, as far as the store tells them apart.
	Room(ctx context.Context) (load.Room, error)
}

// RoomIn says how many connections a store has for its clients; zero where it does
// not tell. within is that of [Load].
func RoomIn(ctx context.Context, store Store, within time.Duration) (load.Room, error) {
	admin, err := inTime(ctx, within, store.Admin)
	if err != nil {
		return load.Room{}, err
	}
	r, err := inTime(ctx, within, func(ctx context.Context) (load.Room, error) { return roomOf(ctx, admin) })
	return r, store.Explain(errors.Join(err, admin.Close()))
}

func roomOf(ctx context.Context, admin Admin) (load.Room, error) {
	if b, ok := admin.(Bounded); ok {
		return b.Room(ctx)
	}
	return load.Room{}, nil
}
