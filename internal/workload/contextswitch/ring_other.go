//go:build !linux

package contextswitch

import (
	"context"
	"errors"
	"time"
)

var errLinux = errors.New("context switches are measured on Linux only")

func processors() ([]int, error) { return nil, errLinux }

func rounds(context.Context, int, int, time.Duration) ([]batch, error) { return nil, errLinux }
