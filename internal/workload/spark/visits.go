package spark

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"syscall"
	"time"

	"github.com/scalebench/scalebench/internal/workload"
)

// table says what a table of visits is made of, or a part of one: the same gives the
// same bytes on every node.
type table struct {
	Version int     `json:"version"` // of the generator
	Seed    int64   `json:"seed"`
	Size    int64   `json:"size"`    // bytes; the row that reaches it is the last
	Sources int     `json:"sources"` // different addresses, at most
	Skew    float64 `json:"skew"`    // of the addresses: the k-th is as frequent as k^-skew
	Part    int     `json:"part,omitempty"`
	Parts   int     `json:"parts,omitempty"` // 0: it is a whole table
}

// answer is what the job must find.
type answer struct {
	Groups int64 `json:"groups"` // addresses that occur
	Cents  int64 `json:"cents"`  // the revenue of all
	// Checked is the sum over the groups of their cents times the CRC-32 (IEEE) of the
	// address, modulo a prime: that of a table is the sum of its parts'.
	Checked int64 `json:"checked"`
}

// prime is the modulus of the checksum; its square fits into 63 bits.
const prime = 1_000_000_007

// kept is what lies beside a table: that it is whole, and what is in it.
type kept struct {
	table
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	CRC    uint32 `json:"crc"` // of the file; Castagnoli
	Answer answer `json:"answer"`
	// Of a part: which addresses it has, by number, a bit each; and where it can be
	// cut, each time behind a row, with its beginning and end.
	Seen []byte  `json:"seen,omitempty"`
	Cuts []int64 `json:"cuts,omitempty"`
}

// generatorVersion changes with what the generator writes, or says of it.
const generatorVersion = 3

// mostCuts is into how many pieces a part can be cut.
const mostCuts = 1 << 14

// write writes the table: UserVisits of the paper on runtime variance (section
// 7.2, after Pavlo et al.) in four columns.
//
//	73.151.12.4,http://host17.example/page4711,2009-03-14,12.07
func (t table) write(w io.Writer) (kept, error) {
	out := kept{table: t}
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	buf := bufio.NewWriterSize(io.MultiWriter(w, sum), 1<<20)
	rng := rand.New(rand.NewPCG(uint64(t.Seed), 1+uint64(t.Part))) //nolint:gosec // data, not secrets
	pick := t.sources(rng)
	revenue := make([]int64, t.Sources)
	begin := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	var line []byte
	for out.Bytes < t.Size {
		if t.Parts > 0 && out.Bytes >= t.Size/mostCuts*int64(len(out.Cuts)) {
			out.Cuts = append(out.Cuts, out.Bytes)
		}
		source, cents := pick(), 1+rng.Int64N(99_999)
		revenue[source] += cents
		line = append(appendAddress(line[:0], source), ",http://host"...)
		line = strconv.AppendInt(line, rng.Int64N(1000), 10)
		line = append(line, ".example/page"...)
		line = strconv.AppendInt(line, rng.Int64N(100_000), 10)
		line = append(line, ',')
		line = begin.AddDate(0, 0, rng.IntN(3653)).AppendFormat(line, time.DateOnly)
		line = append(line, ',')
		line = strconv.AppendInt(line, cents/100, 10)
		line = append(line, '.', byte('0'+cents%100/10), byte('0'+cents%10), '\n')
		if _, err := buf.Write(line); err != nil {
			return kept{}, err
		}
		out.Rows++
		out.Bytes += int64(len(line))
	}
	out.Answer = answerOf(revenue)
	if t.Parts > 0 {
		out.Cuts, out.Seen = append(out.Cuts, out.Bytes), make([]byte, (t.Sources+7)/8)
		for number, cents := range revenue {
			if cents > 0 {
				out.Seen[number/8] |= 1 << (number % 8)
			}
		}
	}
	if err := buf.Flush(); err != nil {
		return kept{}, err
	}
	out.CRC = sum.Sum32()
	return out, nil
}

// sources returns what draws the number of an address, by Zipf's law.
func (t table) sources(rng *rand.Rand) func() int {
	if t.Skew == 0 {
		return func() int { return rng.IntN(t.Sources) }
	}
	upTo := make([]float64, t.Sources)
	var all float64
	for k := range upTo {
		all += math.Pow(float64(k+1), -t.Skew)
		upTo[k] = all
	}
	return func() int { return min(sort.SearchFloat64s(upTo, rng.Float64()*all), t.Sources-1) }
}

// appendAddress appends the address with a number; different numbers have
// different addresses, for the factor is odd.
func appendAddress(to []byte, number int) []byte {
	a := uint32(number+1) * 2654435761 //nolint:gosec // it wraps on purpose
	for shift := 24; shift >= 0; shift -= 8 {
		to = strconv.AppendUint(to, uint64(a>>shift&0xff), 10)
		if shift > 0 {
			to = append(to, '.')
		}
	}
	return to
}

// answerOf is the answer where the address with a number has this revenue, in
// cents; one without revenue has no visit.
func answerOf(revenue []int64) (a answer) {
	var text []byte
	for number, cents := range revenue {
		if cents == 0 {
			continue
		}
		text = appendAddress(text[:0], number)
		a.Groups++
		a.Cents += cents
		a.Checked = (a.Checked + cents%prime*(int64(crc32.ChecksumIEEE(text))%prime)) % prime
	}
	return a
}

// data makes the table in the folder unless it is there, and returns its path and
// what is in it. Nodes that share the folder wait for the one that makes it.
func (t table) data(ctx context.Context, folder string) (file string, k kept, err error) {
	if err := ownFolder(folder); err != nil {
		return "", kept{}, err
	}
	release, err := lock(ctx, filepath.Join(folder, "lock"))
	if err != nil {
		return "", kept{}, fmt.Errorf("waiting for another node to make the data: %w", err)
	}
	defer release()
	name, err := json.Marshal(t)
	if err != nil {
		return "", kept{}, err
	}
	file = filepath.Join(folder, fmt.Sprintf("visits-%08x.csv", crc32.ChecksumIEEE(name)))
	if k, ok := t.there(file); ok {
		return file, k, nil
	}
	k, err = t.make(file)
	return file, k, err
}

// there reports whether the file holds all of this table.
func (t table) there(file string) (k kept, ok bool) {
	text, err := os.ReadFile(file + ".json")
	if err != nil || json.Unmarshal(text, &k) != nil || k.table != t {
		return kept{}, false
	}
	info, err := os.Stat(file)
	return k, err == nil && info.Size() == k.Bytes
}

// make writes the table and then what is in it: what was cut off is made anew.
func (t table) make(file string) (k kept, err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err == nil {
		k, err = t.write(f)
		err = errors.Join(err, f.Sync(), f.Close())
	}
	var text []byte
	if err == nil {
		text, err = json.Marshal(k)
	}
	if err == nil {
		err = os.WriteFile(file+".json", text, 0o600)
	}
	if err != nil {
		return kept{}, errors.Join(fmt.Errorf("making the data: %w", err), os.Remove(file))
	}
	return k, nil
}

// ownFolder makes the folder, of this user alone. One that is there must be so,
// too: another user could have put a link or other data into it.
func ownFolder(folder string) error {
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making the folder of the data: %w", err)
	}
	info, err := os.Lstat(folder)
	if err != nil {
		return fmt.Errorf("looking at the folder of the data: %w", err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || info.Mode().Perm()&0o022 != 0 || !ok || int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s is not a folder that belongs to this user and that no other may write to: give another with path", folder)
	}
	return nil
}

// lock takes the lock that is a file.
func lock(ctx context.Context, file string) (release func(), err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil // which gives it back
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(err, f.Close())
		}
		if err := workload.Pause(ctx, 50*time.Millisecond); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
}
