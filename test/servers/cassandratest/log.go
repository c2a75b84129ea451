package cassandratest

import (
	"bytes"
	"slices"
	"strings"
	"sync"
)

// log keeps the end of what a server says, and notices when it has said that
// it is ready.
type log struct {
	ready chan struct{} // closed when it has said all of wanted

	mu     sync.Mutex
	wanted []string
	line   []byte // the last one, as far as it has come
	tail   []byte
}

// tailSize is how much is kept, in bytes.
const tailSize = 16 << 10

func newLog(wanted ...string) *log { return &log{ready: make(chan struct{}), wanted: wanted} }

// Write never fails.
func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail = append(l.tail, p...)
	l.tail = slices.Delete(l.tail, 0, max(0, len(l.tail)-tailSize))
	l.line = append(l.line, p...)
	for {
		line, rest, whole := bytes.Cut(l.line, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		l.notice(string(line))
		l.line = slices.Clone(rest)
	}
}

func (l *log) notice(line string) {
	before := len(l.wanted)
	l.wanted = slices.DeleteFunc(l.wanted, func(s string) bool { return strings.Contains(line, s) })
	if before > 0 && len(l.wanted) == 0 {
		close(l.ready)
	}
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.tail)
}
