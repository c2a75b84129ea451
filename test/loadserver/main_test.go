package loadserver

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if code, is := Child(); is {
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}
