package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/golden"
	"github.com/scalebench/scalebench/test/skip"
)

var utc = time.UTC

// parquetFiles are made by testdata/parquet.py.
var parquetFiles = []string{"pandas", "polars", "types", "local", "long", "int96", "infinite", "empty", "texts",
	"decimals",
	"lz4raw", "lzo", "encrypted", "signed", "null", "half", "far", "far96"}

// TestParquet: files as users' programs write them; the same from a pipe.
func TestParquet(t *testing.T) {
	var b strings.Builder
	for _, name := range parquetFiles {
		choice := frame.Choice{Zone: "Europe/Berlin"}
		if name == "types" {
			choice.By = nil
		}
		f, err := os.Open("testdata/" + name + ".parquet")
		if err != nil {
			t.Fatal(err)
		}
		frames, told, err := Read(t.Context(), name, f, choice, Limits{})
		fmt.Fprintf(&b, "== %s\n%s", name, outline(frames, told))
		if err != nil {
			fmt.Fprintf(&b, "%v\n", err)
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		again, _, pipeErr := Read(t.Context(), name, io.MultiReader(f), choice, Limits{})
		if d := diff.Diff(frames, again) + diff.Diff(said(err), said(pipeErr)); d != "" {
			t.Errorf("%s, from a pipe (-file +pipe):\n%s", name, d)
		}
		_ = f.Close()
	}
	golden.Check(t, "testdata/parquet.golden", b.String())
}

// TestParquetChosen: columns that cannot be read are refused where they are
// chosen.
func TestParquetChosen(t *testing.T) {
	for _, c := range []struct {
		name   string
		choice frame.Choice
		limits Limits
		want   string
	}{
		{"types", frame.Choice{By: []string{"list"}}, Limits{}, `types: the column "list" is nested; choose another with --by`},
		{"types", frame.Choice{Value: "raw"}, Limits{}, `types: the column "raw" has no numbers; choose another with --value`},
		{"polars", frame.Choice{}, Limits{Rows: 4}, "polars: there are more than 4 rows; give a part of it, such as every tenth row"},
		{"polars", frame.Choice{}, Limits{Memory: 20}, "polars: after 2 rows it takes more than 20 B of memory; choose fewer columns with --by, or give a part of it"},
		{"polars", frame.Choice{Time: "zone"}, Limits{}, "polars: zone is no time in row 1; " + timeAllowed},
	} {
		data, err := os.ReadFile("testdata/" + c.name + ".parquet")
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = Read(t.Context(), c.name, bytes.NewReader(data), c.choice, c.limits)
		if !strings.HasPrefix(said(err), c.want) || !errors.Is(err, model.ErrUsage) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// TestParquetDamaged: wherever a file is cut or changed, there is an error or a
// sound frame; never a panic.
func TestParquetDamaged(t *testing.T) {
	skip.IfShort(t)
	data, err := os.ReadFile("testdata/pandas.parquet")
	if err != nil {
		t.Fatal(err)
	}
	for cut := 4; cut < len(data); cut += 37 {
		_, _, err := Read(t.Context(), "x", bytes.NewReader(data[:cut]), frame.Choice{}, Limits{})
		if !strings.HasPrefix(said(err), "x: the Parquet file is damaged or cut (") {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
	for at := 4; at < len(data); at += 5 {
		broken := bytes.Clone(data)
		broken[at] ^= 0xff
		frames, _, err := Read(t.Context(), "x", bytes.NewReader(broken), frame.Choice{}, Limits{Rows: 1000, Memory: 1 << 20})
		if err != nil && !errors.Is(err, model.ErrUsage) {
			t.Errorf("changed at %d: %v", at, err)
		}
		for _, f := range frames {
			sound(t, &f)
		}
	}
}

// TestParquetLateTimes: a column has times, wherever the first of them stands.
func TestParquetLateTimes(t *testing.T) {
	for name, want := range map[string]int{"late": 150, "lateunix": 150, "emptygroup": 300} {
		data, err := os.ReadFile("testdata/" + name + ".parquet")
		if err != nil {
			t.Fatal(err)
		}
		frames, told, err := Read(t.Context(), name, bytes.NewReader(data), frame.Choice{}, Limits{})
		if err != nil || len(frames) != 1 || len(frames[0].Times) != want {
			t.Errorf("%s: %d frames, told %q, error %v; want one with %d times", name, len(frames), told, err, want)
		}
	}
}
