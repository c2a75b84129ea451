package parts

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// measured runs a part of a proof in the folder, and reports how it ended and how often it
// was measured.
func measured(t *testing.T, name, of string) (got string, times int) {
	t.Helper()
	got = "skipped"
	t.Run(name, func(t *testing.T) {
		got = measureAs(t, "TestMeasure/"+name, of, func() string { times++; return "of " + of })
	})
	return got, times
}

// TestMeasure: what is done is returned and not measured again, unless it is of something
// else; when the time is over it is left, and the time that a part takes is kept free.
func TestMeasure(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PROOF_KEEP", folder)
	until := func(d time.Duration) { t.Setenv("PROOF_UNTIL", fmt.Sprint(time.Now().Add(d).Unix())) }
	until(time.Hour)
	for _, c := range []struct {
		of, want string
		times    int
	}{{"a", "of a", 1}, {"a", "of a", 0}, {"b", "of b", 1}} {
		if got, times := measured(t, "one", c.of); got != c.want || times != c.times {
			t.Errorf("Measure of %s = %q, measured %d times, want %q and %d", c.of, got, times, c.want, c.times)
		}
	}
	until(-time.Second)
	if got, times := measured(t, "two", "a"); got != "skipped" || times != 0 {
		t.Errorf("when the time was over it was measured %d times: %q", times, got)
	}
	if left, err := os.ReadFile(filepath.Join(folder, "left")); string(left) != "TestMeasure/two\n" {
		t.Errorf("left are %q, %v", left, err)
	}
	if got, _ := measured(t, "one", "b"); got != "of b" {
		t.Errorf("what is done is %q when the time is over, want it returned", got)
	}
	long := `{"Name": "TestMeasure/three", "Seconds": 100}`
	if err := os.WriteFile(filepath.Join(folder, "TestMeasure-three.json"), []byte(long), 0o600); err != nil {
		t.Fatal(err)
	}
	for left, want := range map[time.Duration]int{50 * time.Second: 0, 150 * time.Second: 1} {
		until(left)
		if _, times := measured(t, "within "+left.String(), "a"); times != want {
			t.Errorf("with %v left, and parts of 100 s, it was measured %d times, want %d", left, times, want)
		}
	}
	t.Setenv("PROOF_KEEP", "")
	if got, times := measured(t, "one", "b"); got != "of b" || times != 1 {
		t.Errorf("without a folder it was measured %d times: %q", times, got)
	}
}

// TestFailed: a part that failed is kept as such. The tests of a process of its own fail.
func TestFailed(t *testing.T) {
	if os.Getenv("PARTS_TEST_FAILS") != "" {
		Begin(t)
		t.Fatal("it is wrong")
	}
	folder := t.TempDir()
	for _, want := range []string{"it is wrong", "failed before; remove " + filepath.Join(folder, "TestFailed.json")} {
		if out := runAgain(t, folder); !strings.Contains(out, want) {
			t.Errorf("it said %s, want %q", out, want)
		}
	}
}

// runAgain runs TestFailed in a process of its own, and returns what it printed.
func runAgain(t *testing.T, folder string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestFailed$", "-test.v")
	cmd.Env = append(os.Environ(), "PARTS_TEST_FAILS=1", "PROOF_KEEP="+folder)
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Errorf("a proof with a part that failed passes: %s", out)
	}
	return string(out)
}
