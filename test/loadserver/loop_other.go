//go:build !linux

package loadserver

import (
	"errors"
	"time"
)

// errPlatform: exact timers and epoll are Linux's.
var errPlatform = errors.New("load servers run on Linux only")

// loop is what runs on Linux.
type loop struct{ address string }

func newLoop(Behaviour) (*loop, error) { return nil, errPlatform }

func (*loop) run(bool) error                       { return errPlatform }
func (*loop) set(Behaviour) (time.Duration, error) { return 0, errPlatform }
func (*loop) take() (Record, error)                { return Record{}, errPlatform }
func (*loop) stop() error                          { return errPlatform }
