package disk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// document is one report of fio.
type document struct {
	text []byte // as printed, without the line break at its end
	// printed is fio's wall clock when it was printed, ms since 1970. The
	// readings in it may be older.
	printed int64
	job     job
}

// job are the figures of all threads together, since the end of the ramp.
type job struct {
	Error int       `json:"error"` // errno of the first thread that met one
	Read  direction `json:"read"`
	Write direction `json:"write"`
}

// direction are the figures of one direction. Bytes and Runtime are read at
// one moment; the others may be of a later one.
type direction struct {
	Bytes   int64   `json:"io_bytes"`
	Runtime int64   `json:"runtime"` // ms; 0 before the first operation
	Total   int64   `json:"total_ios"`
	Latency latency `json:"clat_ns"`
}

// latency is that of completion, in ns. N is 0 during the ramp.
type latency struct {
	N           int64              `json:"N"`
	Mean        float64            `json:"mean"`
	Percentiles map[string]float64 `json:"percentile"`
	// Bins are counts by the middle of a bin, in ns; bins are at most 1.6 %
	// wide (fio stat.h: 64 for each power of two).
	Bins map[string]int64 `json:"bins"`
}

// runtime is the time since the end of the ramp, in ms. fio leaves it at 0 for
// a direction in which nothing was done yet.
func (j job) runtime() int64 { return max(j.Read.Runtime, j.Write.Runtime) }

// parse reads a report with one group of jobs.
func parse(text []byte) (*document, error) {
	var r struct {
		Printed int64 `json:"timestamp_ms"`
		Jobs    []job `json:"jobs"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("reading fio's JSON: %w", err)
	}
	if len(r.Jobs) != 1 {
		return nil, fmt.Errorf("fio's report has %d groups of jobs, want 1", len(r.Jobs))
	}
	d := &document{text: bytes.Clone(text), printed: r.Printed, job: r.Jobs[0]}
	return d, errors.Join(d.job.Read.check(), d.job.Write.check())
}

// maxRuntime is beyond every run, and below what a time.Duration holds: ten
// years, in ms.
const maxRuntime = 10 * 365 * 24 * 3600 * 1000

// check refuses what cannot be.
func (d direction) check() error {
	if d.Bytes < 0 || d.Total < 0 || d.Latency.N < 0 || d.Latency.Mean < 0 {
		return errors.New("fio's report has a figure below zero")
	}
	if d.Runtime < 0 || d.Runtime > maxRuntime {
		return fmt.Errorf("fio's report has a running time of %d ms", d.Runtime)
	}
	for key, ns := range d.Latency.Percentiles {
		if ns < 0 {
			return fmt.Errorf("fio's report has a percentile %s of %v ns", key, ns)
		}
	}
	return nil
}

// maxDocument is far above what fio prints with all its bins, in bytes.
const maxDocument = 16 << 20

// splitter cuts fio's output into its JSON documents and the lines between
// them. fio indents its JSON, so that a brace alone on a line, at its begin,
// opens or closes a document, and nothing within does.
type splitter struct {
	take  func(text []byte) // text is valid during the call
	other io.Writer         // the lines between, whole

	line []byte // unfinished
	doc  []byte
	in   bool // a document is open
}

// Write takes output as it comes.
func (s *splitter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			s.line = append(s.line, p...)
			if len(s.line) > maxDocument {
				return 0, fmt.Errorf("fio printed a line of more than %d bytes", maxDocument)
			}
			break
		}
		s.line = append(s.line, p[:i+1]...)
		p = p[i+1:]
		if err := s.next(s.line); err != nil {
			return 0, err
		}
		s.line = s.line[:0]
	}
	return n, nil
}

// next takes a line with its end.
func (s *splitter) next(line []byte) error {
	switch text := string(bytes.TrimRight(line, "\r\n")); {
	case text == "{": // one that was cut off is given up
		s.in, s.doc = true, append(s.doc[:0], line...)
	case !s.in:
		return s.outside(line)
	case len(s.doc)+len(line) > maxDocument:
		return fmt.Errorf("fio printed a report of more than %d bytes", maxDocument)
	case text == "}":
		s.in = false
		s.take(append(s.doc, '}'))
	default:
		s.doc = append(s.doc, line...)
	}
	return nil
}

func (s *splitter) outside(line []byte) error {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	if _, err := s.other.Write(line); err != nil {
		return fmt.Errorf("keeping fio's output: %w", err)
	}
	return nil
}

// words takes what fio says in words, from both of its streams: all of it goes
// out, and the last of it is kept for an error. Safe for concurrent use.
type words struct {
	out   io.Writer
	limit int // bytes that are kept

	mu   sync.Mutex
	last []byte
}

func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = append(w.last, p...)
	if over := len(w.last) - w.limit; over > 0 {
		w.last = append(w.last[:0], w.last[over:]...)
	}
	return w.out.Write(p)
}

func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.last)
}
