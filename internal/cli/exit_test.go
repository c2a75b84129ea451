package cli

import (
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/lab"
	"github.com/scalebench/scalebench/internal/record"
)

// TestUnknownHost: a word that is wrong on the command line has exit code 2.
func TestUnknownHost(t *testing.T) {
	up := record.Lab{State: record.LabKept, Manifest: lab.Manifest{Hosts: []lab.HostRecord{{Host: lab.Host{Name: "lab-rack-1"}}}}}
	_, err := findHost([]record.Lab{up}, "", "lab-rack-9")
	if err == nil || ExitCode(err) != exitUsage || !strings.Contains(err.Error(), "the hosts are lab-rack-1") {
		t.Errorf("unknown host: %v, exit code %d; want the hosts and %d", err, ExitCode(err), exitUsage)
	}
}
