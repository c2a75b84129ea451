package redis

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/gomodule/redigo/redis"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/kv"
)

var _ kv.Bounded = (*admin)(nil)

// fullAnswer begins the answer of a server that allows no more connections.
const fullAnswer = "ERR max number of clients reached"

// full is that answer; empty for another error.
func full(err error) string {
	if answer, ok := errors.AsType[redis.Error](err); ok && strings.HasPrefix(string(answer), fullAnswer) {
		return string(answer)
	}
	return ""
}

// clientName is what our connections are called, so that the server tells them from
// others.
const clientName = "scalebench"

// Room implements kv.Bounded. Where the server does not list its clients, all
// connections but this one are those of others; where the limit may not be asked for, as
// with most services, it is not known.
func (a *admin) Room(ctx context.Context) (load.Room, error) {
	info, err := redis.String(a.do(ctx, "INFO", "clients"))
	clients, listed := redis.String(a.do(ctx, "CLIENT", "LIST"))
	limit := field(info, "maxclients")
	if limit == 0 && err == nil {
		var set []string
		if set, err = redis.Strings(a.do(ctx, "CONFIG", "GET", "maxclients")); len(set) == 2 {
			limit, _ = strconv.Atoi(set[1]) // 0, of what is no number: it is not known
		}
	}
	for _, err := range []error{err, listed} {
		if _, answered := errors.AsType[redis.Error](err); err != nil && !answered {
			return load.Room{}, err
		}
	}
	if limit == 0 {
		return load.Room{}, nil
	}
	ours := max(strings.Count(clients, " name="+clientName+" "), 1)
	return load.Room{Setting: "maxclients", Others: max(field(info, "connected_clients")-ours, 0), Limit: limit}, nil
}

// field is a number in the answer to INFO; 0 where it is not there.
func field(info, name string) int {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(value))
			return n
		}
	}
	return 0
}
