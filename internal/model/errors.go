package model

import (
	"errors"
	"fmt"
	"strings"
)

// Kinds of error that callers tell apart with errors.Is. Exit codes are mapped
// from them once, in package cli.
var (
	// ErrUsage: bad flags or a bad file; the caller must change the input.
	ErrUsage = errors.New("bad usage")
	// ErrNotFound: no such run, task, node or artifact.
	ErrNotFound = errors.New("not found")
	// ErrInvalid: measured, but the measurement is not valid; refused.
	ErrInvalid = errors.New("measurement not valid")
	// ErrNothing: nothing was measured, so that there is nothing to show but why;
	// a kind of ErrInvalid.
	ErrNothing error = kind{"nothing was measured", ErrInvalid}
	// ErrUnfinished: what is asked for is not known, because the run is not over;
	// a kind of ErrInvalid.
	ErrUnfinished error = kind{"not over yet", ErrInvalid}
	// ErrThreshold: measured, but a threshold that the user gave was missed.
	ErrThreshold = errors.New("threshold missed")
	// ErrDenied: the caller has no right to do this.
	ErrDenied = errors.New("not allowed")
	// ErrStale: a result for an attempt that is over; it is not stored.
	ErrStale = errors.New("attempt is over")
	// ErrQuota: more than there is room for by a limit or quota; what is too much
	// is not kept, and sending it again is in vain.
	ErrQuota = errors.New("quota used up")
	// ErrUnavailable: the store or the queue does not answer now; try again.
	ErrUnavailable = errors.New("unavailable")
)

// Usagef is an ErrUsage that says what is wrong, and what to do.
func Usagef(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrUsage, fmt.Errorf(format, args...))
}

// Unavailablef is an ErrUnavailable that says what does not answer.
func Unavailablef(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrUnavailable, fmt.Errorf(format, args...))
}

// kind is a kind of error that is one of another kind.
type kind struct {
	text string
	of   error
}

func (k kind) Error() string { return k.text }
func (k kind) Unwrap() error { return k.of }

// Plain is an error as people read it: without the kinds that say only which
// exit code it has.
func Plain(err error) string {
	text := err.Error() + "\n"
	for _, kind := range []error{ErrUsage, ErrNotFound, ErrUnavailable} {
		if !errors.Is(err, kind) { // then it is the word of a program
			continue
		}
		text = strings.ReplaceAll(text, kind.Error()+": ", "")
		text = strings.ReplaceAll(text, ": "+kind.Error()+"\n", "\n")
	}
	return strings.TrimSuffix(text, "\n")
}
