package agent

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// retention is how long a delivered attempt is remembered. It must exceed the
// life of an assignment, so that a replayed assignment is recognised until it
// has expired.
const retention = 30 * 24 * time.Hour

// entry is what the journal knows of one attempt that is not yet delivered.
type entry struct {
	Attempt wire.Attempt `json:"attempt"`
	Run     model.RunID  `json:"run"`
	Step    model.StepID `json:"step"`
	Node    model.NodeID `json:"node"`
	Started time.Time    `json:"started"` // node clock
	// Group and Ticks name the process group that runs it, see
	// runner.KillLeftover; zero before it exists.
	Group int    `json:"group,omitempty"`
	Ticks uint64 `json:"ticks,omitempty"`
	// Result is set once the attempt is over.
	Result *model.Result `json:"result,omitempty"`
	// Artifacts maps artifact names to files that must be delivered first.
	Artifacts map[string]string `json:"artifacts,omitempty"`
}

// journal is the agent's memory on disk: a file per undelivered attempt and a
// list of the delivered ones. It is used by one goroutine.
type journal struct {
	dir string
	// delivered is the last attempt at each task that was delivered. The server
	// begins an attempt when those before it are over, so that these are, too.
	delivered map[model.TaskID]int
	log       *os.File // appends to the list
	length    int64    // of the list: what is beyond it is a line that was cut short
}

// openJournal reads the journal below dir, creating it where needed.
func openJournal(dir string, now time.Time) (*journal, error) {
	if err := os.MkdirAll(filepath.Join(dir, "tasks"), 0o700); err != nil {
		return nil, fmt.Errorf("creating the agent's journal: %w", err)
	}
	j := &journal{dir: dir, delivered: make(map[model.TaskID]int)}
	lines, err := j.loadDelivered(now)
	if err != nil {
		return nil, err
	}
	list := []byte(strings.Join(lines, ""))
	if err := identity.WritePrivate(j.deliveredPath(), list); err != nil && !noRoom(err) { // the longer one does, too
		return nil, fmt.Errorf("compacting the agent's journal: %w", err)
	}
	j.log, err = os.OpenFile(j.deliveredPath(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		j.length, err = j.log.Seek(0, io.SeekEnd)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the agent's journal: %w", err)
	}
	return j, nil
}

// noRoom reports whether a disk had no room for what was to be written.
func noRoom(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

func (j *journal) close() error { return j.log.Close() }

func (j *journal) deliveredPath() string { return filepath.Join(j.dir, "delivered") }

// loadDelivered returns the lines that are young enough to keep. A line is
// "<unix seconds> <attempt number> <task>"; a torn last line is dropped: its
// attempt still has its file, so nothing is lost by it.
func (j *journal) loadDelivered(now time.Time) ([]string, error) {
	f, err := os.Open(j.deliveredPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the agent's journal: %w", err)
	}
	defer f.Close() //nolint:errcheck // read only
	var keep []string
	for s := bufio.NewScanner(f); s.Scan(); {
		var at int64
		var a wire.Attempt
		if n, _ := fmt.Sscanf(s.Text(), "%d %d %s", &at, &a.Attempt, &a.Task); n != 3 {
			continue
		}
		if now.Sub(time.Unix(at, 0)) < retention {
			j.delivered[a.Task] = max(j.delivered[a.Task], a.Attempt)
			keep = append(keep, s.Text()+"\n")
		}
	}
	return keep, nil
}

// path is the file of an undelivered attempt. Task ids hold slashes, so the
// name is a digest; the content says which attempt it is.
func (j *journal) path(a wire.Attempt) string {
	sum := sha256.Sum256([]byte(a.String()))
	return filepath.Join(j.dir, "tasks", hex.EncodeToString(sum[:16])+".json")
}

// put stores the entry so that it survives power loss.
func (j *journal) put(e entry) error {
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encoding the journal entry of %s: %w", e.Attempt, err)
	}
	if err := identity.WritePrivate(j.path(e.Attempt), data); err != nil {
		return fmt.Errorf("writing the journal entry of %s: %w", e.Attempt, err)
	}
	return nil
}

// isOver reports whether this attempt, or a later one at the same task, was
// delivered: it must not be run.
func (j *journal) isOver(a wire.Attempt) bool { return a.Attempt <= j.delivered[a.Task] }

// markDelivered remembers the attempt as delivered and forgets its entry.
func (j *journal) markDelivered(a wire.Attempt, now time.Time) error {
	line := fmt.Sprintf("%d %d %s\n", now.Unix(), a.Attempt, a.Task)
	err := j.log.Truncate(j.length) // or else the line would be the rest of another
	if err == nil {
		_, err = j.log.WriteString(line)
	}
	if err == nil {
		err = j.log.Sync()
	}
	if err != nil {
		return fmt.Errorf("journalling the delivery of %s: %w", a, err)
	}
	j.length += int64(len(line))
	j.delivered[a.Task] = max(j.delivered[a.Task], a.Attempt)
	if e, err := readEntry(j.path(a)); err == nil && e.Attempt == a {
		for _, file := range e.Artifacts {
			_ = os.Remove(file) // the server has it; a left-over file is only waste
		}
	}
	if err := os.Remove(j.path(a)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the journal entry of %s: %w", a, err)
	}
	return nil
}

// pending returns the undelivered entries, oldest first. Unreadable files are
// reported beside them: their attempts cannot be delivered any more.
func (j *journal) pending() (entries []entry, damaged []string, err error) {
	dir := filepath.Join(j.dir, "tasks")
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("listing the agent's journal: %w", err)
	}
	for _, file := range files {
		if filepath.Ext(file.Name()) != ".json" {
			continue // a write that a crash cut short
		}
		f := filepath.Join(dir, file.Name())
		e, err := readEntry(f)
		if err != nil {
			damaged = append(damaged, f)
			continue
		}
		entries = append(entries, e)
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return a.Started.Compare(b.Started) })
	return entries, damaged, nil
}

func readEntry(path string) (entry, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return entry{}, err
	}
	var e entry
	err = json.Unmarshal(data, &e)
	return e, cmp.Or(err, wire.Check(e.Attempt))
}
