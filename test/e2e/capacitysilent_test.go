package e2e_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/study/capacity"
)

// TestCapacityNoAnswer: where the target does not answer at all, everything that
// is said of the search says so, and no generator is blamed.
func TestCapacityNoAnswer(t *testing.T) {
	t.Parallel()
	w := install(t)
	const reason = "127.0.0.1:1: connection refused: the target http://127.0.0.1:1/ answered none of 5 requests"
	stdout, stderr, err := w.Try("capacity", "http://127.0.0.1:1/", "--sla", "p90=100ms", "--format", "json")
	var r capacity.Record
	if json.Unmarshal([]byte(stdout), &r) != nil || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], reason) {
		t.Errorf("warnings %q, want one with %q", r.Warnings, reason)
	}
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	if last := lines[len(lines)-1]; err == nil || !strings.Contains(last, reason) {
		t.Errorf("the command ended with %v, %q; want %q", err, last, reason)
	}
	shown := strings.Split(w.Run("show", "latest"), "\n")
	if !slices.ContainsFunc(shown, func(l string) bool {
		return strings.HasPrefix(l, "Nothing was measured: 127.0.0.1:1: connection refused")
	}) {
		t.Errorf("show has no headline with the reason:\n%s", strings.Join(shown, "\n"))
	}
	if page := w.Run("report", "latest", "-o", "-"); !strings.Contains(page,
		"Nothing was measured: 127.0.0.1:1: connection refused") || strings.Contains(page, "generator failed") {
		t.Error("the report does not say that the target did not answer")
	}
}
