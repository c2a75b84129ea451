package cli

import (
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/lab"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/record"
)

// TestUnknownHost: a word that is wrong on the command line has exit code 2.
func TestUnknownHost(t *testing.T) {
	up := record.Lab{State: record.LabKept, Manifest: lab.Manifest{Hosts: []lab.HostRecord{{Host: lab.Host{Name: "lab-rack-1"}}}}}
	_, err := findHost([]record.Lab{up}, "", "lab-rack-9")
	if err == nil || exitCode(err) != exitUsage || !strings.Contains(err.Error(), "the hosts are lab-rack-1") {
		t.Errorf("unknown host: %v, exit code %d; want the hosts and %d", err, exitCode(err), exitUsage)
	}
}

// TestEndError: a reason is not said twice.
func TestEndError(t *testing.T) {
	for want, run := range map[string]model.Run{
		"run a: cancelled by the user":    {ID: "a", State: model.RunCancelled, Reason: "cancelled by the user"},
		"run a: failed: the disk is full": {ID: "a", State: model.RunFailed, Reason: "the disk is full"},
	} {
		if got := endError(run); got == nil || got.Error() != want {
			t.Errorf("endError(%s, %q) = %v, want %s", run.State, run.Reason, got, want)
		}
	}
}
