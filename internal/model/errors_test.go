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
		{fmt.Errorf("%w: it printed: exec: x: not found", model.ErrUnavailable), "it printed: exec: x: not found"},
		{fmt.Errorf("%w: the CDI is 12", model.ErrThreshold), "threshold missed: the CDI is 12"},
	} {
		if got := model.Plain(tt.err); got != tt.want {
			t.Errorf("Plain(%v) = %q, want %q", tt.err, got, tt.want)
		}
	}
}

// TestAlikeInputErrors: what is wrong in the same way in many places is told once.
func TestAlikeInputErrors(t *testing.T) {
	many := func(n int, path string) (out model.InputErrors) {
		for i := range n {
			out = append(out, &model.InputError{File: "f.yaml", Line: 2 + i, Col: 3, Path: fmt.Sprintf(path, i), Problem: "is wrong", Allowed: "mend it"})
		}
		return out
	}
	for _, tt := range []struct {
		name string
		errs model.InputErrors
		want string
	}{
		{"two", many(2, "jobs.%d.node"), "f.yaml:2:3: jobs.0.node: is wrong; mend it\nf.yaml:3:3: jobs.1.node: is wrong; mend it"},
		{"36", many(36, "jobs.%d.node"), "f.yaml:2:3: jobs.0.node: is wrong; mend it (the same 35 times more, first in line 3, 4, 5, 6, 7)"},
		{"other keys", many(4, "jobs.key%d"), "f.yaml:2:3: jobs.key0: is wrong; mend it\nf.yaml:3:3: jobs.key1: is wrong; mend it\nf.yaml:4:3: jobs.key2: is wrong; mend it\nf.yaml:5:3: jobs.key3: is wrong; mend it"},
	} {
		if got := tt.errs.Error(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
