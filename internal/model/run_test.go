package model_test

import (
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// TestRunStateWith: a reason is not said twice.
func TestRunStateWith(t *testing.T) {
	for reason, want := range map[string]string{
		"":                      "cancelled",
		"cancelled by the user": "cancelled by the user",
		"the disk is full":      "cancelled: the disk is full",
	} {
		if got := model.RunCancelled.With(reason); got != want {
			t.Errorf("With(%q) = %q, want %q", reason, got, want)
		}
	}
}
