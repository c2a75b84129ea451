package walk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/doc/term"
)

// narrow are terminals below the usual 80 columns.
var narrow = []int{60, 79}

// look looks at every run of the page.
func (w *walker) look() {
	w.t.Helper()
	if _, err := os.Stat(w.path("data/scalebench.db")); err != nil {
		return // the page measures nothing
	}
	list, code := w.plain("runs", "--format", "json")
	var runs []struct{ ID string }
	if err := json.Unmarshal([]byte(list), &runs); err != nil || code != 0 {
		w.t.Fatalf("%s: runs: %v, exit code %d\n%s", w.page, err, code, list)
	}
	if campaigns, _ := w.plain("campaign", "list", "--format", "json"); strings.TrimSpace(campaigns) != "[]" {
		w.everywhere("campaign", "list")
		w.everywhere("campaign", "status", "latest")
	} else if len(runs) == 0 {
		w.t.Fatalf("%s: nothing was measured", w.page)
	}
	w.everywhere("runs")
	w.everywhere("nodes")
	for _, run := range runs {
		w.everywhere("show", run.ID)
		for _, study := range []string{"cdi", "resources"} {
			w.everywhere(study, run.ID)
		}
	}
}

// TestHelp reads the help of every command everywhere.
func TestHelp(t *testing.T) {
	t.Parallel()
	w := newWalker(t, "help")
	for name := range commandTree(t) {
		w.everywhere(append(strings.Fields(name), "--help")...)
	}
}

// lists are commands whose rows have one line each, with as many columns as there is room for.
var lists = regexp.MustCompile(`^(runs|nodes|campaign list|lab list)( --[a-z]+( \S+)?)*$`)

// everywhere executes a command without a terminal and on narrow ones: no line is wider than
// allowed, and whatever word the widest form has, others have, too; lists with --wide.
func (w *walker) everywhere(args ...string) {
	w.t.Helper()
	name := strings.Join(args, " ")
	plain, code := w.plain(args...)
	w.tooWide(name+" without a terminal", plain, plainWidth)
	wide := args
	if lists.MatchString(name) { // has room for some columns only, and says how to see the others
		wide = append(slices.Clone(args), "--wide")
		plain, _ = w.plain(wide...)
	}
	for _, columns := range narrow {
		where := fmt.Sprintf("%s on %d columns", name, columns)
		got, on := w.onTerminal(columns, args...)
		if on != code {
			w.t.Errorf("%s ends with exit code %d, without a terminal with %d", where, on, code)
		}
		w.tooWide(where, got, columns)
		if len(wide) > len(args) {
			got, _ = w.onTerminal(columns, wide...)
		}
		has := make(map[string]bool)
		for _, word := range word.FindAllString(got, -1) {
			has[strings.ToLower(word)] = true
		}
		for _, word := range words(plain) {
			if !has[word] {
				w.t.Errorf("%s: %q is lost; without a terminal there is\n%s\nand here\n%s", where, word, plain, got)
				break
			}
		}
	}
}

var (
	word  = regexp.MustCompile(`[\pL\pN]+(?:[.:/_=-]*[\pL\pN]+)*`)
	lower = regexp.MustCompile(`[a-z0-9]`)
)

// words are those of a text, and its numbers, without what draws charts, and
// without headings in capitals: those of empty columns may go.
func words(text string) (all []string) {
	for _, w := range word.FindAllString(text, -1) {
		if lower.MatchString(w) {
			all = append(all, strings.ToLower(w))
		}
	}
	return all
}

func (w *walker) tooWide(what, text string, columns int) {
	w.t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if n := term.Width(line); n > columns && strings.Contains(line, " ") { // a token cannot be folded
			w.t.Errorf("%s: %s: a line has %d columns, want at most %d:\n%s", w.page, what, n, columns, line)
			return
		}
	}
}

// plain is what a command prints without a terminal, and its exit code.
func (w *walker) plain(args ...string) (string, int) {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), w.path("bin/scalebench"), args...)
	w.prepare(cmd)
	var out bytes.Buffer
	cmd.Stdout = &out
	code := w.ends(cmd.Start(), cmd)
	return out.String(), code
}

// escapes are colours.
var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// onTerminal is what a command prints on a terminal, without its colours, and
// its exit code.
func (w *walker) onTerminal(columns int, args ...string) (string, int) {
	w.t.Helper()
	master, tty := openTerminal(w.t, columns)
	cmd := exec.CommandContext(w.t.Context(), w.path("bin/scalebench"), args...)
	w.prepare(cmd)
	cmd.Stdout = tty
	err := cmd.Start()
	var out bytes.Buffer
	if err == nil {
		_ = tty.Close()
		if _, err := io.Copy(&out, master); !errors.Is(err, unix.EIO) { // the other end is closed
			w.t.Fatal(err)
		}
	}
	code := w.ends(err, cmd)
	return escapes.ReplaceAllString(strings.ReplaceAll(out.String(), "\r\n", "\n"), ""), code
}

// ends waits for a command that was started, and returns its exit code.
func (w *walker) ends(err error, cmd *exec.Cmd) int {
	w.t.Helper()
	if err == nil {
		err = cmd.Wait()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatalf("%v: %v", cmd.Args, err)
	}
	return cmd.ProcessState.ExitCode()
}

// openTerminal makes a pseudo-terminal: what is written to tty is read from
// master.
func openTerminal(t *testing.T, columns int) (master, tty *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	err = errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0),
		unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: uint16(columns)}))
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tty.Close() })
	return master, tty
}
