package walk

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/lab"
	"github.com/scalebench/scalebench/test/kvtest"
	"github.com/scalebench/scalebench/test/servers"
	"github.com/scalebench/scalebench/test/servers/s3test"
)

// TestWalk types what the pages say, in their order, each page in a folder of
// its own, and then looks at what was measured on terminals of several widths.
// A block is executed, or marked with the reason why it is not.
func TestWalk(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for most of a minute; make test does it")
	}
	executed, left, walked := 0, 0, 1 // elsewhere
	for _, page := range pages(t) {
		if page == elsewhere {
			continue
		}
		begin := time.Now()
		t.Run(strings.TrimSuffix(filepath.Base(page), ".md"), func(t *testing.T) {
			w := newWalker(t, page)
			for _, b := range read(t, page).Blocks {
				w.block(b)
			}
			w.look()
			t.Logf("%d commands executed, %d blocks not, %.1f s", w.executed, w.left, time.Since(begin).Seconds())
			executed, left, walked = executed+w.executed, left+w.left, walked+1
		})
	}
	if walked == len(pages(t)) && (executed < 20 || left > executed) {
		t.Errorf("%d commands were executed, and %d blocks not: is this a walk?", executed, left)
	}
}

// walker types the commands of one page.
type walker struct {
	t              *testing.T
	page, dir      string
	environ        []string
	executed, left int
}

// newWalker makes a folder with what a fresh checkout has after `make`.
func newWalker(t *testing.T, page string) *walker {
	t.Helper()
	program, err := exec.LookPath("scalebench") // testscript.Main put it there
	if err != nil {
		t.Fatal(err)
	}
	w := &walker{t: t, page: page, dir: t.TempDir()}
	if err := os.CopyFS(w.path("examples"), os.DirFS(filepath.Join(root, "examples"))); err != nil {
		t.Fatal(err)
	}
	// The real sudo drops SCALEBENCH_DATA; who has its rights needs none.
	w.write("bin/sudo", "#!/bin/sh\nexec \"$@\"\n", 0o755)
	if err := os.Symlink(program, w.path("bin/scalebench")); err != nil {
		t.Fatal(err)
	}
	w.environ = []string{
		"PATH=" + w.path("bin") + ":" + os.Getenv("PATH"), "HOME=" + w.dir, "SCALEBENCH_DATA=" + w.path("data"),
		"SCALEBENCH_SERVER=", "SCALEBENCH_STORE=", "SCALEBENCH_TOKEN=", "COLUMNS=", "LANG=C.UTF-8",
	}
	return w
}

func (w *walker) path(name string) string { return filepath.Join(w.dir, name) }

func (w *walker) write(name, text string, mode os.FileMode) {
	w.t.Helper()
	path := w.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		w.t.Fatal(err)
	}
}

// block does what one block says.
func (w *walker) block(b Block) {
	w.t.Helper()
	for _, value := range b.Marked("beside") {
		command, text, _ := strings.Cut(value, " => ")
		w.leave(Command{Line: b.Line, Text: w.adapted(command, Block{})}, text)
	}
	for _, command := range b.Marked("first") {
		w.do(Command{Line: b.Line, Text: w.adapted(command, Block{})}, Block{}, 0)
	}
	switch {
	case len(b.Marked("not run")) > 0:
		w.left++
	case b.Language == "sh" || b.Language == "console":
		w.commands(b)
	case b.Path != "" && b.Language != "go" && b.Language != "diff":
		w.write(b.Path, b.Text, 0o644)
	}
}

// commands types those of a block.
func (w *walker) commands(b Block) {
	w.t.Helper()
	commands := b.Commands()
	code := 0
	for _, value := range b.Marked("exit") {
		n, err := strconv.Atoi(value)
		if err != nil {
			w.t.Fatalf("%s:%d: exit %q", w.page, b.Line, value)
		}
		code = n
	}
	for i, c := range commands {
		c.Text = w.adapted(c.Text, b)
		if strings.HasPrefix(c.Text, "sudo ") && !w.mayMakeLabs() {
			continue
		}
		w.executed++
		switch set, exports := strings.CutPrefix(c.Text, "export "); {
		case exports:
			w.environ = append(w.environ, os.Expand(set, w.lookup))
		case len(b.Marked("stays")) > 0:
			w.leave(c, b.Marked("stays")[0])
		case i == len(commands)-1:
			w.do(c, b, code)
		default:
			w.do(c, b, 0)
		}
		if args := looking(c.Text); args != nil {
			w.everywhere(args...)
		}
	}
}

// looking returns the arguments of a command that only shows something, as text;
// nil of others.
func looking(text string) []string {
	text, _, _ = strings.Cut(text, " #")
	words := strings.Fields(text)
	if len(words) < 2 || words[0] != "scalebench" || !slices.Contains([]string{"runs", "show", "nodes", "cdi", "resources", "plan"}, words[1]) ||
		strings.ContainsAny(text, "|>$'\"") || slices.Contains(words, "--format") || slices.Contains(words, "-o") {
		return nil
	}
	return words[1:]
}

// mayMakeLabs reports whether labs can be made here. In CI they must be.
func (w *walker) mayMakeLabs() bool {
	w.t.Helper()
	err := lab.Check()
	if err != nil && os.Getenv("CI") != "" {
		w.t.Fatal(err)
	}
	if err != nil {
		w.t.Logf("left out what needs a lab: %v", err)
	}
	return err == nil
}

// adapted is a command with what a block's marks put in place of a part of it.
func (w *walker) adapted(text string, b Block) string {
	w.t.Helper()
	for _, value := range b.Marked("as") {
		before, after, ok := strings.Cut(value, " => ")
		if !ok || !strings.Contains(b.Text, before) {
			w.t.Errorf("%s:%d: the block has nothing for the mark %q to change", w.page, b.Line, value)
		}
		text = strings.ReplaceAll(text, before, after)
	}
	for _, name := range variable.FindAllString(text, -1) {
		w.provide(strings.TrimPrefix(name, "$"))
	}
	return text
}

var variable = regexp.MustCompile(`\$[A-Z0-9]+\b`)

// provide starts, when a page first needs it, what its marks name as $NAME.
func (w *walker) provide(name string) {
	w.t.Helper()
	if w.lookup(name) != "" {
		return
	}
	hello := http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("hello\n")) })
	value := ""
	switch name {
	case "SERVER", "APP", "ENTRY": // an address for one of scalebench's own
		value = servers.FreeAddress(w.t)
	case "WEB":
		web := httptest.NewServer(hello)
		w.t.Cleanup(web.Close)
		value = strings.TrimPrefix(web.URL, "http://")
	case "SHOP", "AUTHORITY": // a web server, and who vouches for it
		web := httptest.NewUnstartedServer(hello)
		web.Config.ErrorLog = log.New(io.Discard, "", 0) // of TCP handshakes beside the load
		web.StartTLS()
		w.t.Cleanup(web.Close)
		w.environ = append(w.environ, "AUTHORITY="+string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})))
		name, value = "SHOP", strings.TrimPrefix(web.URL, "https://")
	case "REDIS":
		value = kvtest.StartRedis(w.t, "").Addr
	case "BOARD": // an empty database
		value = "mysql://bench:secret@" + kvtest.StartMariaDB(w.t, 1, "secret").Addr + "/test0"
	case "FOLDER": // one that other users get to
		value = servers.New(w.t, "mysql").Dir
	case "BUCKET":
		s3test.UseCredentials(w.t)
		value = strings.TrimPrefix(s3test.Start(w.t).URL, "http://") + "/" + s3test.Bucket
	default:
		w.t.Fatalf("%s: no $%s is known", w.page, name)
	}
	w.environ = append(w.environ, name+"="+value)
}

// lookup is what a variable of the page's shell has.
func (w *walker) lookup(name string) (value string) {
	for _, set := range w.environ {
		if v, ok := strings.CutPrefix(set, name+"="); ok {
			value = v
		}
	}
	return value
}

// do types one command, and holds its exit code and what it prints to the page.
func (w *walker) do(c Command, b Block, code int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", c.Text)
	w.prepare(cmd)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends its agents
	cmd.WaitDelay = 10 * time.Second
	var out, all bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &all
	if b.Language == "console" { // one pipe keeps the order
		cmd.Stdout = &all
	}
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || cmd.ProcessState.ExitCode() != code {
		w.t.Fatalf("%s:%d: $ %s\nends with %v, want exit code %d\n%s%s", w.page, c.Line, c.Text, err, code, out.String(), all.String())
	}
	if b.Language == "console" && !Pattern(c.Want).Match(all.Bytes()) {
		w.t.Errorf("%s:%d: $ %s\nprints\n%s\nthe page says\n%s", w.page, c.Line, c.Text, all.String(), c.Want)
	}
	if strings.Contains(c.Text, "scalebench ") && !strings.Contains(c.Text, "--format") {
		w.tooWide(c.Text, out.String(), plainWidth)
	}
}

func (w *walker) prepare(cmd *exec.Cmd) {
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), w.environ...)
}

// leave starts a command that goes on while the page does, in a second
// terminal so to say, and waits until it has printed text.
func (w *walker) leave(c Command, text string) {
	w.t.Helper()
	cmd := exec.Command("bash", "-c", "exec "+c.Text)
	w.prepare(cmd)
	said := &said{}
	cmd.Stdout, cmd.Stderr = said, said
	p, err := servers.Start(cmd, syscall.SIGTERM)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := p.End(syscall.SIGTERM, 20*time.Second); err != nil {
			w.t.Errorf("%s:%d: $ %s\n%v", w.page, c.Line, c.Text, err)
		}
	})
	if err := p.Await(func() error { return said.text(text) }, 30*time.Second); err != nil {
		w.t.Fatalf("%s:%d: $ %s\n%v:\n%s", w.page, c.Line, c.Text, err, said.printed.String())
	}
}

// said is what a command has printed so far.
type said struct {
	mu      sync.Mutex
	printed strings.Builder
}

// Write implements io.Writer.
func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.printed.Write(p)
}

// text is nil once the text was printed.
func (s *said) text(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !strings.Contains(s.printed.String(), text) {
		return fmt.Errorf("it has not printed %q", text)
	}
	return nil
}
