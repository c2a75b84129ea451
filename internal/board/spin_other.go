//go:build !linux

package board

import "time"

func spin(time.Duration) time.Duration { return 0 }

func processTime() time.Duration { return 0 }

// Calm does nothing.
func Calm() {}
