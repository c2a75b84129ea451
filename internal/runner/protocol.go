package runner

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// order is one line from the agent to the child. Exactly one field is set. The
// end of the pipe is an order, too: the agent is gone, kill everything.
type order struct {
	Setup *setup `json:"setup,omitempty"`
	// Begin is when Run must start, in nanoseconds of the wall clock since
	// 1970.
	Begin *int64 `json:"begin,omitempty"`
	// Over: no task of the step measures any more.
	Over bool `json:"over,omitempty"`
	// Reply answers a call to the queue of items.
	Reply *jobReply `json:"reply,omitempty"`
}

// setup is the first order.
type setup struct {
	Node model.NodeID `json:"node"`
	Spec model.Spec   `json:"spec"`
	Dir  string       `json:"dir"`
	Keep string       `json:"keep"`
	// Cleanup bounds the workload's Cleanup, in nanoseconds.
	Cleanup time.Duration `json:"cleanup"`
	Jobs    bool          `json:"jobs,omitempty"` // there is a queue of items to call
	Place
}

// report is one line from the child to the agent. Exactly one field is set.
type report struct {
	Ready     *verdict          `json:"ready,omitempty"`   // Prepare ended
	Started   *int64            `json:"started,omitempty"` // Run was called; wall clock, ns since 1970
	Point     *model.Progress   `json:"point,omitempty"`   // time since Run was called, monotonic
	Sample    *model.Sample     `json:"sample,omitempty"`
	Histogram *model.Histogram  `json:"histogram,omitempty"`
	Recording *model.HostSeries `json:"recording,omitempty"`
	Stage     *stageReport      `json:"stage,omitempty"`
	ExitCode  *int              `json:"exit_code,omitempty"`
	// Live is how things are, for people.
	Live map[string]float64 `json:"live,omitempty"`
	Call *jobCall           `json:"call,omitempty"` // to the queue of items
	Done *verdict           `json:"done,omitempty"` // Run returned
}

// jobCall is a call to the queue of items. Calls have numbers, upwards from 1.
type jobCall struct {
	Number uint64 `json:"number"`
	Data   []byte `json:"data"` // jobs.Call in JSON: the agent does not read it
}

// jobReply answers the call that is on its way: there is one at a time.
type jobReply struct {
	Error string `json:"error,omitempty"` // why there is no reply
	Data  []byte `json:"data,omitempty"`  // jobs.Reply in JSON
}

// stageReport is a change of a stage at a time of the wall clock, in nanoseconds
// since 1970.
type stageReport struct {
	model.StageChange
	At int64 `json:"at"`
}

// verdict is how Prepare or Run ended.
type verdict struct {
	Error string `json:"error,omitempty"` // empty: well
	// After is the time from the call of Run to its return, in nanoseconds of
	// the monotonic clock.
	After time.Duration `json:"after,omitempty"`
}

// maxLine bounds one line of the protocol; a sample with its labels is far
// below, the parameters of a workload are, too.
const maxLine = 4 << 20

// lineReader reads JSON lines of bounded length.
type lineReader struct{ s *bufio.Scanner }

func newLineReader(r io.Reader) *lineReader {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 4096), maxLine)
	return &lineReader{s}
}

// next decodes the next line into v; io.EOF when the pipe is closed.
func (l *lineReader) next(v any) error {
	if !l.s.Scan() {
		if err := l.s.Err(); err != nil {
			return err
		}
		return io.EOF
	}
	if err := json.Unmarshal(l.s.Bytes(), v); err != nil {
		return fmt.Errorf("decoding a line of the control pipe: %w", err)
	}
	return nil
}

// lineWriter writes JSON lines, each whole, from any goroutine.
type lineWriter struct {
	sync.Mutex
	w io.Writer
}

func (l *lineWriter) write(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding a line for the control pipe: %w", err)
	}
	if len(line) >= maxLine {
		return errors.New("a line for the control pipe is too long: fewer labels or shorter parameters are needed")
	}
	l.Lock()
	defer l.Unlock()
	_, err = l.w.Write(append(line, '\n'))
	return err
}
