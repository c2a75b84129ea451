package peers

import (
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/facts"
)

// machine says on what, and with which versions, figures were measured.
func machine(t *testing.T) string {
	t.Helper()
	f, err := facts.Collect(t.Context(), facts.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s, %d cores, Linux %s, %s; nginx %s, wrk %s, hey %s, k6 %s; %s.\n", f.CPUModel, f.Cores, f.Kernel,
		strings.Replace(runtime.Version(), "go", "Go ", 1), version(t, "nginx", "-v"), version(t, "wrk", "-v"),
		version(t, "dpkg-query", "--show", "--showformat=${Version}", "hey"), version(t, "k6", "version"), time.Now().UTC().Format(time.DateOnly))
}

var versionNumber = regexp.MustCompile(`[0-9]+\.[0-9]+[0-9A-Za-z.+~-]*`)

// version is the first thing that looks like one in what a program prints; some
// print it to standard error, or fail after it.
func version(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput()
	v := versionNumber.Find(bytes.TrimSpace(out))
	if v == nil {
		t.Fatalf("%s does not say its version: %v\n%s", argv[0], err, out)
	}
	return string(v)
}
