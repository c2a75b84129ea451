package load

import "time"

// Crossing is how much later than a round trip the end of a connection may be
// noticed that crossed a request.
const Crossing = 500 * time.Microsecond

// Crossed reports whether the end of a connection, noticed so long after a request
// was sent over it, may have been sent before the server had the request: within a
// round trip. Later, the server had it and did not answer, which is an error.
func Crossed(took, roundTrip, slack time.Duration) bool { return took <= 2*roundTrip+slack }
