package otherfiles

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/frame/files"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
	"github.com/scalebench/scalebench/test/proof/parts"
)

var (
	number = flag.Int("parquet-files", 0, "how many files are drawn, as `make tables-proof` does; 0: none")
	seed   = flag.Int("parquet-seed", 1, "draws other files")
	python = flag.String("python", "python3", "the Python that has pandas, polars, pyarrow and duckdb")
)

// drawn is a file, and what the second reader finds in it.
type drawn struct {
	File        string
	What        string
	N           int
	Mean, Cov   *float64
	First, Last *int64 // nanoseconds since 1970
	Lz4         bool
}

// TestFilesOfOthers reads drawn files beside pyarrow.
func TestFilesOfOthers(t *testing.T) {
	parts.Begin(t, *number, *seed)
	if *number == 0 {
		t.Skip("make tables-proof draws files")
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), *python, "parquet.py", dir, strconv.Itoa(*number), strconv.Itoa(*seed))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read, refused := 0, 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var d drawn
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		switch err := d.hold(t, dir); {
		case errors.Is(err, model.ErrUsage) &&
			(d.N == 0 || d.Lz4 && strings.Contains(err.Error(), "compressed with LZ4")):
			refused++
		case err != nil:
			t.Errorf("%s (%s): %v", d.File, d.What, err)
		default:
			read++
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if read+refused != *number && !t.Failed() {
		t.Errorf("%d files read and %d refused, want %d", read, refused, *number)
	}
	t.Logf("%d files with the figures of pyarrow, %d refused by name", read, refused)
}

// hold reads a file and compares; an error of reading it is returned as it is.
func (d drawn) hold(t *testing.T, dir string) error {
	in, err := os.Open(filepath.Join(dir, d.File))
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	frames, _, err := files.Read(t.Context(), d.File, in, frame.Choice{}, files.Limits{})
	if err != nil {
		return err
	}
	if len(frames) != 1 || frames[0].Len() != d.N || d.Lz4 {
		return fmt.Errorf("%d frames of %d values, want one of %d; lz4 %t", len(frames), frames[0].Len(), d.N, d.Lz4)
	}
	s, err := stats.Describe(frames[0].Values)
	if err != nil {
		return err
	}
	sd := 0.0
	if d.N > 1 {
		if sd, err = stats.SampleSD(frames[0].Values); err != nil {
			return err
		}
	}
	times := frames[0].Times
	switch {
	case d.Mean != nil && !near(s.Mean, *d.Mean), d.Cov != nil && !near(sd/s.Mean, *d.Cov):
		return fmt.Errorf("mean %v and COV %v, want %v and %v", s.Mean, sd/s.Mean, *d.Mean, d.Cov)
	case d.First != nil && (len(times) != d.N || times[0] != *d.First || times[d.N-1] != *d.Last):
		return fmt.Errorf("%d times, want %d from %d to %d", len(times), d.N, *d.First, *d.Last)
	}
	return nil
}

// near allows for another order of summing.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-10*max(1, math.Abs(b)) }
