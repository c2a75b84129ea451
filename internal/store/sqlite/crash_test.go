package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store/sqlite"
	"github.com/scalebench/scalebench/test/storetest"
)

// childEnv names the store to which the test binary writes when TestKilled starts
// it.
const childEnv = "SCALEBENCH_TEST_STORE"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		if err := child(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func killedFixture() storetest.Fixture { return storetest.New(1, 50, 10) }

// child delivers results in random order and prints the task of each as soon
// as it was acknowledged. What it printed is in the pipe, whatever happens to
// it afterwards.
func child(path string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	results := killedFixture().Results()
	rand.Shuffle(len(results), func(i, j int) { results[i], results[j] = results[j], results[i] })
	return storetest.Deliver(ctx, s, results, 8, func() {}, func(r model.Result) {
		fmt.Println(r.Task)
	})
}

// TestKilled kills a writing process many times at random moments: what it
// was told to be stored is there, once and whole.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, f := start(t, path, 50, 10)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	acked := make(map[model.TaskID]bool)
	for range 10 {
		killWriter(t, path, 1+rand.IntN(100), acked)
	}
	var want []model.Result
	for _, r := range f.Results() {
		if acked[r.Task] {
			want = append(want, r)
		}
	}
	t.Logf("%d of %d results were acknowledged", len(want), len(f.Results()))
	storetest.CheckStored(t, mustOpen(t, path), f, want, true)
	var verdict string
	if err := raw(t, path).QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity check: %q, %v", verdict, err)
	}
}

// killWriter starts a child and kills it after so many acknowledgements.
func killWriter(t *testing.T, path string, after int, acked map[model.TaskID]bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	n := 0
	for lines.Scan() {
		acked[model.TaskID(lines.Text())] = true
		if n++; n == after {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n < after {
		t.Errorf("the child ended by itself after %d acknowledgements", n)
	}
	_ = cmd.Wait() // it was killed: always an error
}
