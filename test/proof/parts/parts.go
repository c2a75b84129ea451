// Package parts lets a proof of hours run an hour at a time. What is finished is kept with
// its result in a folder, and a proof that is started again goes on with what is left.
//
//  1. scripts/proof.sh runs the tests of a proof, and says in two variables where finished
//     parts are kept (PROOF_KEEP) and until when a part may begin (PROOF_UNTIL, in seconds
//     since 1970). Without them nothing is kept.
//  2. A test that is a part begins with Begin. One that judges what many parts measured
//     takes each from Measure, and judges when none is left.
//  3. A part that failed stays failed: it is not measured until it passes. Remove its file to
//     measure it again.
package parts

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// part is what is kept of a finished part.
type part struct {
	Name    string
	Of      string // what was measured: of something else it says nothing
	Failed  bool
	Seconds float64         // how long it took
	Value   json.RawMessage `json:",omitempty"`
}

// Whole reports whether a proof is run, and not `make test-long`, for which the first case of
// many is enough.
func Whole() bool { return os.Getenv("PROOF_KEEP") != "" }

// Begin makes a test a part, which lasts as long as the test: one that is done is not run
// again, and one that no time is left for is skipped. of is what it depends on.
func Begin(t *testing.T, of ...any) {
	t.Helper()
	k := open(t, t.Name(), fmt.Sprint(of...))
	if k == nil {
		return
	}
	if k.done {
		t.SkipNow()
	}
	t.Cleanup(func() { k.keep(t, nil) })
}

// Measure returns what a test measures, or what it measured before: of is what that depends
// on, such as the text of an experiment file. It ends the test where it is left for the next
// run, or failed. What is done with the value is done each time.
func Measure[T any](t *testing.T, of string, measure func() T) T {
	t.Helper()
	return measureAs(t, t.Name(), of, measure)
}

func measureAs[T any](t *testing.T, name, of string, measure func() T) (value T) {
	t.Helper()
	k := open(t, name, of)
	switch {
	case k == nil:
		return measure()
	case k.done:
		if err := json.Unmarshal(k.Value, &value); err != nil {
			t.Fatalf("%s: %v", k.file, err)
		}
		return value
	}
	returned := false
	defer func() {
		if returned || t.Failed() { // not where it panics
			k.keep(t, value)
		}
	}()
	value = measure()
	returned = true
	return value
}

// kept is a part, and where it is kept.
type kept struct {
	part
	file  string
	begun time.Time
	done  bool // before
}

// open returns nil where nothing is kept. It ends the test where there is no time for the
// part, or it failed before.
func open(t *testing.T, name, of string) *kept {
	t.Helper()
	folder := os.Getenv("PROOF_KEEP")
	if folder == "" {
		return nil
	}
	file := filepath.Join(folder, strings.NewReplacer("/", "-", " ", "_").Replace(name)+".json")
	switch p, ok := read(file); {
	case !ok || p.Of != of:
		leave(t, name, folder)
		return &kept{part: part{Name: name, Of: of}, file: file, begun: time.Now()}
	case p.Failed:
		t.Fatalf("failed before; remove %s to run it again", file)
		return nil
	default:
		t.Logf("done before, in %.0f s", p.Seconds)
		return &kept{part: p, file: file, done: true}
	}
}

// keep writes how the part ended, unless the test was skipped, for something is missing here.
func (k *kept) keep(t *testing.T, value any) {
	t.Helper()
	if t.Skipped() {
		return
	}
	k.Failed, k.Seconds = t.Failed(), time.Since(k.begun).Seconds()
	var err error
	if k.Value, err = json.Marshal(value); err == nil {
		var text []byte
		if text, err = json.MarshalIndent(k.part, "", "  "); err == nil {
			err = os.WriteFile(k.file, text, 0o600)
		}
	}
	if err != nil {
		t.Errorf("keeping what is done: %v", err)
	}
}

func read(file string) (p part, ok bool) {
	text, err := os.ReadFile(file)
	return p, err == nil && json.Unmarshal(text, &p) == nil
}

// leave skips the test, and notes it as left, where the longest part of its kind would go on
// for longer than there is time.
func leave(t *testing.T, name, folder string) {
	t.Helper()
	until, err := strconv.ParseInt(os.Getenv("PROOF_UNTIL"), 10, 64)
	if err != nil || time.Now().Add(longest(t, name, folder)).Before(time.Unix(until, 0)) {
		return
	}
	left, err := os.OpenFile(filepath.Join(folder, "left"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(left, name)
	}
	if err != nil {
		t.Fatalf("noting what is left: %v", err)
	}
	_ = left.Close() // a line is written
	t.Skip("left for the next run: the time is over")
}

// longest is how long the longest of those parts took that are of the same test.
func longest(t *testing.T, name, folder string) (most time.Duration) {
	t.Helper()
	test, _, _ := strings.Cut(name, "/")
	files, err := filepath.Glob(filepath.Join(folder, test+"-*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if p, ok := read(file); ok {
			most = max(most, time.Duration(p.Seconds*float64(time.Second)))
		}
	}
	return most
}
