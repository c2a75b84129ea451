package load_test

import (
	"testing"

	"github.com/scalebench/scalebench/internal/load"
)

// TestErrors: the kind of an error is that of the outermost that has one.
func TestErrors(t *testing.T) {
	inner := &load.Error{Kind: load.ErrTimeout}
	for _, c := range []struct {
		err  error
		kind load.Kind
		text string
	}{
		{inner, load.ErrTimeout, "timeout"},
		{&load.Error{Kind: load.ErrWrong, Err: inner}, load.ErrWrong, "wrong: timeout"},
		{errPlain, load.ErrStatus, "plain"},
	} {
		if got := load.KindOf(c.err); got != c.kind || c.err.Error() != c.text {
			t.Errorf("KindOf(%v) = %v, want %v of %q", c.err, got, c.kind, c.text)
		}
	}
	names := map[string]bool{}
	for k := range load.Kind(load.Kinds) {
		names[k.String()] = true
	}
	if len(names) != load.Kinds || load.Kind(99).String() != "kind 99" {
		t.Errorf("names of kinds are %v, and %v", names, load.Kind(99))
	}
}

type plainError string

func (e plainError) Error() string { return string(e) }

const errPlain = plainError("plain")
