package ntier

import (
	"testing"

	"github.com/scalebench/scalebench/internal/tiers"
)

// TestSignalNames: what is read is what services record under that name.
func TestSignalNames(t *testing.T) {
	recorded := make(map[string]bool)
	for _, s := range tiers.Signals() {
		recorded[s.Name] = true
	}
	for _, name := range signalNames {
		if !recorded[name] {
			t.Errorf("%q is read, and no service records it", name)
		}
	}
}
