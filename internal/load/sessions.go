package load

import "time"

// Sessions are users of a closed loop who choose what they do next from the
// answers that they get, as people do who follow links. Each loop has some of
// them, and calls their methods from one goroutine.
type Sessions interface {
	// Peek returns when the next request is due, from the start of the run. ok
	// is false where none is until an answer comes.
	Peek() (due time.Duration, ok bool)
	// Take takes it. Its user asks for nothing else before it has ended.
	Take() Turn
	// Ended tells the user of a request taken earlier what came of it. An error
	// says what is wrong with an answer that seemed to be good: then the
	// request counts as failed, ErrWrong.
	Ended(user int, a Answer) error
}

// Turn is a request of a user.
type Turn struct {
	// User is a number from 0, among those of the loop.
	User int
	// Op is the index of the kind of operation.
	Op int
	// Wire is the request as it goes over the connection. It stays as it is
	// until the request has ended.
	Wire []byte
}

// Answer is what came of a request.
type Answer struct {
	// Now is when the answer was read, or given up, from the start of the run.
	Now time.Duration
	// OK: there is a whole answer, in time, with a status that is expected.
	OK bool
	// Page is the body of an answer that is OK, as long as Ended lasts.
	// Incomplete: it was too long to be kept whole.
	Page       []byte
	Incomplete bool
}
