package e2e_test

import (
	"os"
	"testing"

	"github.com/scalebench/scalebench/test/program"
)

// Tests that measure have the machine for themselves. The others, which are parallel,
// come after them, and mostly wait: several at a time, whatever the processors.
func TestMain(m *testing.M) { program.Main(m, 6, os.Exit) }
