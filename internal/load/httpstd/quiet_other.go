//go:build !unix

package httpstd

import (
	"net"
	"time"
)

// quiet cannot know: a request then shows it.
func quiet(net.Conn) bool { return true }

// roundTrip is not known.
func roundTrip(net.Conn) time.Duration { return 0 }
