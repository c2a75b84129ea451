package model_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// TestPlain: kinds of error are for programs, people read what is wrong.
func TestPlain(t *testing.T) {
	usage := fmt.Errorf("%w: --a excludes --b", model.ErrUsage)
	for _, tt := range []struct {
		err  error
		want string
	}{
		{usage, "--a excludes --b"},
		{fmt.Errorf("looking up run %q: %w: unknown run", "x", model.ErrNotFound), `looking up run "x": unknown run`},
		{errors.Join(fmt.Errorf("no nodes: %w", model.ErrUsage), usage), "no nodes\n--a excludes --b"},
		{model.ErrUnavailable, "unavailable"},
		{fmt.Errorf("%w: the CDI is 12", model.ErrThreshold), "threshold missed: the CDI is 12"},
	} {
		if got := model.Plain(tt.err); got != tt.want {
			t.Errorf("Plain(%v) = %q, want %q", tt.err, got, tt.want)
		}
	}
}
