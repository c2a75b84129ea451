//go:build !linux

package board

import (
	"errors"
	"time"
)

// canSpin: only Linux tells a thread its processor time to the nanosecond.
func canSpin() error {
	return errors.New("work needs Linux, where a thread's processor time is known exactly")
}

func spin(time.Duration) time.Duration { return 0 }

func processTime() time.Duration { return 0 }

// Calm does nothing.
func Calm() {}
