package agentproc

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Restart policy: an agent is started again at once, and then after pauses that
// grow. One that ends more than maxRestarts times, each time within steady, is
// left alone: something is wrong that a restart does not cure. The wait for
// another agent to release the state directory does not count, and is bounded
// by Config.Patience.
const (
	maxRestarts = 5
	steady      = 5 * time.Second
	firstPause  = 250 * time.Millisecond
	maxPause    = time.Second
)

// restarts decides when an agent that ended is started again.
type restarts struct {
	patience, first time.Duration
	streak
}

// streak is a series of ends, each soon after the start.
type streak struct {
	since time.Time // the first end
	count int       // of the ends for which no other agent is to blame
	pause time.Duration
}

// next returns after which pause an agent is to be started again that ended
// after it had lived so long; ok is false if it is not.
func (r *restarts) next(held bool, lived time.Duration, now time.Time) (pause time.Duration, ok bool) {
	if lived > steady || r.since.IsZero() {
		r.streak = streak{since: now}
	}
	pause = r.pause
	r.pause = min(max(2*pause, r.first), max(maxPause, r.first))
	if held {
		return pause, now.Sub(r.since) < r.patience
	}
	r.count++
	return pause, r.count <= maxRestarts
}

// held reports whether an agent ended because another one holds its state
// directory.
func held(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == ExitHeld
}

// lastLine returns the last line of a file that is not empty, from an offset on;
// "" if there is none. Of a long text it sees the end only.
func lastLine(file string, from int64) string {
	const most = 1000
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // it was only read
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		from = max(from, size-most)
	}
	data, err := io.ReadAll(io.NewSectionReader(f, from, most))
	if err != nil {
		return ""
	}
	text := strings.TrimSpace(strings.ToValidUTF8(string(data), ""))
	line := text[strings.LastIndexByte(text, '\n')+1:]
	return strings.TrimPrefix(line, "scalebench: ")
}
