package spark

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/test/paramtest"
)

// TestAnswer holds the answer against what Python makes of the table, which
// testdata/answer.py reads as the job does.
func TestAnswer(t *testing.T) {
	for _, tt := range []struct {
		name  string
		table table
		want  kept
	}{
		{"equal", table{Version: 2, Seed: 7, Size: 100_000, Sources: 500},
			kept{Rows: 1540, Bytes: 100_008, CRC: 354070399, Answer: answer{Groups: 472, Cents: 76441246, Checked: 672070482}}},
		{"skewed", table{Version: 2, Seed: -3, Size: 100_000, Sources: 500, Skew: 1.2},
			kept{Rows: 1535, Bytes: 100_058, CRC: 62048183, Answer: answer{Groups: 241, Cents: 77163451, Checked: 592182050}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var text bytes.Buffer
			got, err := tt.table.write(&text)
			if err != nil {
				t.Fatal(err)
			}
			tt.want.table = tt.table
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(kept{})); diff != "" {
				t.Errorf("write() (-want +got):\n%s", diff)
			}
			if sum := crc32.Checksum(text.Bytes(), crc32.MakeTable(crc32.Castagnoli)); sum != got.CRC || int64(text.Len()) != got.Bytes {
				t.Errorf("%d bytes with checksum %d, want %d with %d", text.Len(), sum, got.Bytes, got.CRC)
			}
			if file := os.Getenv("SPARK_TEST_TABLE"); file != "" { // for answer.py
				if err := os.WriteFile(file+"-"+tt.name+".csv", text.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestParts: the sums of parts make that of the table, held against what their rows say,
// and the pieces of a part are its rows, each once.
func TestParts(t *testing.T) {
	for range 20 {
		n, cores := 1+rand.IntN(8), 1+rand.IntN(300)                                //nolint:gosec // the test's truth
		tab := table{Version: 2, Seed: rand.Int64(), Size: 1 + rand.Int64N(60_000), //nolint:gosec // the same
			Sources: 1 + rand.IntN(300), Skew: 2 * rand.Float64(), Parts: n} //nolint:gosec // the same
		var parts []*part
		cents := make(map[string]int64)
		for tab.Part = range n {
			var text bytes.Buffer
			k, err := tab.write(&text)
			if err != nil {
				t.Fatal(err)
			}
			rows, err := csv.NewReader(bytes.NewReader(text.Bytes())).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				c, err := strconv.ParseInt(strings.ReplaceAll(r[3], ".", ""), 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				cents[r[0]] += c
			}
			p := (&Params{Cores: cores, kept: k, file: fmt.Sprint(tab.Part)}).part("host")
			var all []byte
			for i, end := range p.Cuts[1:] {
				piece := text.Bytes()[p.Cuts[i]:end]
				if !bytes.HasSuffix(piece, []byte("\n")) {
					t.Errorf("%+v: piece %d of %d ends with %q", tab, i, len(p.Cuts)-1, piece)
				}
				all = append(all, piece...)
			}
			if want := min(cores, len(k.Cuts)-1); !bytes.Equal(all, text.Bytes()) || len(p.Cuts)-1 != want {
				t.Errorf("%+v: %d pieces of %d bytes, want %d of %d", tab, len(p.Cuts)-1, len(all), want, text.Len())
			}
			parts = append(parts, p)
		}
		want := answer{Groups: int64(len(cents))}
		for address, c := range cents {
			want.Cents += c
			want.Checked = (want.Checked + c*int64(crc32.ChecksumIEEE([]byte(address)))%prime) % prime
		}
		rand.Shuffle(n, func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		if got, err := whole(parts); got != want || err != nil {
			t.Errorf("the whole of %d parts of %+v = %+v, %v, want %+v", n, tab, got, err, want)
		}
		other := *parts[0]
		other.Table.Seed++
		for what, wrong := range map[string][]*part{
			"missing": parts[1:], "twice": append([]*part{parts[0]}, parts[:n-1]...), "none": {nil},
			"of another table": append(slices.Clone(parts[1:]), &other),
		} {
			if got, err := whole(wrong); n > 1 && err == nil {
				t.Errorf("parts of which one is %s are a table: %+v", what, got)
			}
		}
	}
	big := &Params{Cores: 4, kept: kept{Bytes: 2_000_000_000, Cuts: slices.Repeat([]int64{0}, mostCuts+1)}}
	if got := len(big.part("host").Cuts) - 1; got != 16 {
		t.Errorf("2 GB on 4 cores are read in %d tasks, want four rounds", got)
	}
}

// TestSkew: the k-th address is as frequent as k^-skew.
func TestSkew(t *testing.T) {
	for _, skew := range []float64{0, 1} {
		var text bytes.Buffer
		k, err := table{Version: 1, Size: 4_000_000, Sources: 100, Skew: skew}.write(&text)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&text).ReadAll()
		if err != nil || int64(len(rows)) != k.Rows || len(rows[0]) != 4 {
			t.Fatalf("%d rows, %v, want %d of 4 columns", len(rows), err, k.Rows)
		}
		count := make(map[string]float64)
		for _, r := range rows {
			count[r[0]] += 100 / float64(len(rows)) // per cent
		}
		first, tenth := count[string(appendAddress(nil, 0))], count[string(appendAddress(nil, 9))]
		// Of 100: the sum of 1/k is 5.187.
		want := map[float64][2]float64{0: {1, 1}, 1: {19.28, 1.928}}[skew]
		if first < 0.9*want[0] || first > 1.1*want[0] || tenth < 0.9*want[1] || tenth > 1.1*want[1] || len(count) != 100 {
			t.Errorf("skew %v: the first of %d has %.2f %%, the tenth %.2f %%, want %.2f and %.2f", skew, len(count), first, tenth, want[0], want[1])
		}
	}
}

// TestAddresses: numbers have addresses of their own.
func TestAddresses(t *testing.T) {
	seen := make(map[string]bool)
	for i := range 100_000 {
		a := string(appendAddress(nil, i))
		if seen[a] || strings.Count(a, ".") != 3 {
			t.Fatalf("address %d is %s", i, a)
		}
		seen[a] = true
	}
}

// TestKept: the table is made once, also by nodes that share the folder, and anew
// if it is not whole.
func TestKept(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "visits")
	tab := table{Version: 1, Size: 200_000, Sources: 10}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, k, err := tab.data(t.Context(), folder); err != nil || k.Rows == 0 {
				t.Errorf("data() = %+v, %v", k, err)
			}
		})
	}
	wg.Wait()
	made := func() (string, time.Time) {
		file, k, err := tab.data(t.Context(), folder)
		info, serr := os.Stat(file)
		if err != nil || serr != nil || info.Size() != k.Bytes {
			t.Fatalf("data() = %s, %+v, %v, %v", file, k, err, serr)
		}
		return file, info.ModTime()
	}
	file, at := made()
	if _, again := made(); !again.Equal(at) {
		t.Error("the table was made twice")
	}
	if err := os.Truncate(file, 1000); err != nil {
		t.Fatal(err)
	}
	if _, again := made(); again.Equal(at) {
		t.Error("a table that was cut off was not made anew")
	}
	other, _, err := table{Version: 1, Size: 200_000, Sources: 11}.data(t.Context(), folder)
	if err != nil || other == file {
		t.Errorf("another table: %s, %v", other, err)
	}
	release, err := lock(t.Context(), filepath.Join(folder, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := tab.data(ctx, folder); err == nil {
		t.Error("data() = nil although another node has the lock")
	}
}

// TestFolder: data of others is not read, and what they may write to not written.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	open, link := filepath.Join(dir, "open"), filepath.Join(dir, "link")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil { //nolint:gosec // what is refused
		t.Fatal(err)
	}
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]bool{open: false, link: false, filepath.Join(dir, "new"): true, dir: true} {
		if err := ownFolder(folder); (err == nil) != want {
			t.Errorf("ownFolder(%s) = %v, want it allowed: %v", folder, err, want)
		}
	}
}

func TestValidate(t *testing.T) {
	paramtest.Validate(t, Kind(), [][2]string{
		{`{}`, ""},
		{`{"size": "1GB", "sources": 10000000, "skew": 1.1, "cores": 2, "memory": "2GiB", "path": "/data", "home": "/opt/spark", "port": 9000}`, ""},
		{`{"size": "0B"}`, "size"},
		{`{"sources": 20000000}`, "sources"},
		{`{"skew": -1}`, "skew"},
		{`{"cores": -1}`, "cores"},
		{`{"memory": "100MiB"}`, "memory"},
		{`{"port": 65535}`, "port"},
		{`{"path": "data"}`, "path"},
		{`{"home": "spark"}`, "home"},
	})
}

// TestJudge: a sum that differs in anything fails the task, and so does a cluster
// that was not whole.
func TestJudge(t *testing.T) {
	p := &Params{kept: kept{Answer: answer{Groups: 3, Cents: 500, Checked: 7}}}
	for _, tt := range []struct {
		executors int
		got       answer
		want      string
	}{
		{2, answer{3, 500, 7}, ""},
		{1, answer{3, 500, 7}, "executors on 1 of 2 nodes"},
		{2, answer{3, 501, 7}, "sum is wrong"},
		{2, answer{2, 500, 7}, "sum is wrong"},
		{2, answer{3, 500, 8}, "sum is wrong"},
		{2, answer{}, "sum is wrong"},
	} {
		err := p.judge(tt.executors, 2, tt.got)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("judge(%d, %+v) = %v, want %q", tt.executors, tt.got, err, tt.want)
		}
	}
}
