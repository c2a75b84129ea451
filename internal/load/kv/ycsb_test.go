package kv

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestYCSB compares with what YCSB 0.17.0 printed: its constants, hashes, and
// what its generators made of a random number u. The head of the golden file
// says how it was made.
func TestYCSB(t *testing.T) {
	f, err := os.Open("testdata/ycsb/core.golden")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	zetas := map[int64]float64{} // by number of records: they take a while
	for _, records := range []int64{10, 1000, 123457} {
		zetas[records] = zeta(records)
	}
	seen := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if words[0] == "#" {
			continue
		}
		seen++
		last := len(words) - 1
		if got := ours(t, words[:last], zetas); got != words[last] {
			t.Errorf("%s = %s, want %s", strings.Join(words[:last], " "), got, words[last])
		}
	}
	if seen < 900 {
		t.Errorf("only %d lines in the golden file", seen)
	}
}

// ours computes what a line of the golden file is about.
func ours(t *testing.T, words []string, zetas map[int64]float64) string {
	t.Helper()
	switch words[0] {
	case "items":
		return strconv.Itoa(scrambledItems - 1)
	case "zeta":
		return strconv.FormatFloat(scrambledZeta, 'g', -1, 64)
	case "theta":
		return strconv.FormatFloat(theta, 'g', -1, 64)
	case "fnv":
		return strconv.FormatUint(fnv(parseInt(t, words[1])), 10)
	}
	records := parseInt(t, words[1])
	u, err := strconv.ParseFloat(words[2], 64)
	if err != nil {
		t.Fatal(err)
	}
	if words[0] == "zipfian" {
		return strconv.FormatInt(newGray(records, zetas[records]).rank(u), 10)
	}
	return strconv.FormatInt(newScrambled(records).recordAt(u), 10)
}

func parseInt(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
