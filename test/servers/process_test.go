package servers

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a shell that repeats each line it is given.
func echo(t *testing.T, script string) (*Process, io.Writer, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script+"\necho ready; while read -r x; do echo $x; done")
	in, inErr := cmd.StdinPipe()
	out, write, outErr := os.Pipe() // a pipe of the command's would be closed when it ends
	if inErr != nil || outErr != nil {
		t.Fatal(inErr, outErr)
	}
	cmd.Stdout = write
	p, err := Start(cmd, syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Kill() // most tests have
		_ = in.Close()
		_ = out.Close()
		_ = write.Close()
	})
	r := bufio.NewReader(out)
	if line, err := r.ReadString('\n'); line != "ready\n" {
		t.Fatalf("it said %q, %v", line, err)
	}
	return p, in, r
}

// TestStall: a process that is stalled does not answer, and does when it is
// released.
func TestStall(t *testing.T) {
	p, in, out := echo(t, "")
	release, err := p.Stall()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, "hello\n"); err != nil {
		t.Fatal(err)
	}
	answered := make(chan string, 1)
	go func() {
		line, _ := out.ReadString('\n')
		answered <- line
	}()
	select {
	case line := <-answered:
		t.Errorf("stalled, it answered %q", line)
	case <-time.After(100 * time.Millisecond):
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if line := <-answered; line != "hello\n" {
		t.Errorf("released, it answered %q", line)
	}
}

// TestEnd: a process ends when asked to; one that takes no notice is killed,
// and that is said; one that is gone stays so.
func TestEnd(t *testing.T) {
	p, _, _ := echo(t, "")
	if err := p.End(syscall.SIGTERM, time.Minute); err != nil {
		t.Error(err)
	}
	<-p.Done()
	if p.Err() == nil || !strings.Contains(p.Err().Error(), "terminated") {
		t.Errorf("it ended with %v, want that it was terminated", p.Err())
	}
	if err := p.Kill(); err != nil {
		t.Errorf("Kill of what has ended: %v", err)
	}
	deaf, _, _ := echo(t, "trap '' TERM")
	if err := deaf.End(syscall.SIGTERM, 50*time.Millisecond); err == nil || !strings.Contains(err.Error(), "had no effect in 50ms") {
		t.Errorf("End of one that takes no notice: %v, want that it says so", err)
	}
	<-deaf.Done()
}

// TestAwait: what is waited for ends the wait, and so does the end of the
// process, or of the time.
func TestAwait(t *testing.T) {
	p, _, _ := echo(t, "")
	asked := 0
	if err := p.Await(func() error {
		if asked++; asked < 3 {
			return io.EOF
		}
		return nil
	}, time.Minute); err != nil || asked != 3 {
		t.Errorf("Await = %v after %d questions, want nil after 3", err, asked)
	}
	never := func() error { return io.EOF }
	if err := p.Await(never, time.Millisecond); !errors.Is(err, io.EOF) {
		t.Errorf("Await = %v, want the last answer", err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := p.Await(never, time.Minute); err == nil || !strings.Contains(err.Error(), "ended by itself: signal: killed") {
		t.Errorf("Await = %v, want that it ended", err)
	}
}

func TestStartFails(t *testing.T) {
	if p, err := Start(exec.Command("/dev/null/missing"), syscall.SIGKILL); err == nil || p != nil {
		t.Errorf("Start = %v, %v, want an error", p, err)
	}
}
