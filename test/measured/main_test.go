package measured_test

import (
	"os"
	"testing"

	"github.com/scalebench/scalebench/test/program"
)

func TestMain(m *testing.M) { program.Main(m, 0, os.Exit) }
