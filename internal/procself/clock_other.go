//go:build !linux

package procself

import "time"

// ThreadTime is not known: only Linux tells it to the nanosecond.
func ThreadTime() (used time.Duration, ok bool) { return 0, false }
