package spark

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/scalebench/scalebench/internal/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testFirst is a first node that expects these others, on loopback.
func testFirst(t *testing.T, others ...model.NodeID) (f *first, at string) {
	t.Helper()
	var hosts []model.Host
	for _, id := range others {
		hosts = append(hosts, model.Host{Node: id, Address: "127.0.0.1"})
	}
	f, err := listen(t.Context(), "127.0.0.1:0", hosts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.end)
	return f, f.listener.Addr().String()
}

// TestCluster: the others are told where the master is, once they have come, and
// that it is over. Strangers are told nothing.
func TestCluster(t *testing.T) {
	f, at := testFirst(t, "a", "b")
	told := make(chan message, 4)
	for _, id := range []model.NodeID{"stranger", "a", "b"} {
		go func() {
			l, m, err := join(t.Context(), at, message{Node: id, CRC: 5})
			if err != nil {
				told <- message{Error: string(id)}
				return
			}
			told <- m
			_ = l.send(message{Registered: true})
			m, _ = l.receive()
			told <- m
			_ = l.conn.Close()
		}()
	}
	err := f.gather(t.Context(), 5)
	if err == nil {
		err = f.begin(t.Context(), message{Master: "spark://x:1", Secret: "s"}, func(err error) { t.Logf("at the end: %v", err) })
	}
	if err != nil {
		t.Fatal(err)
	}
	f.end()
	count := make(map[message]int)
	for range 5 {
		select {
		case m := <-told:
			count[m]++
		case <-time.After(10 * time.Second):
			t.Fatalf("only %v was told", count)
		}
	}
	if count[message{Master: "spark://x:1", Secret: "s"}] != 2 || count[message{Done: true}] != 2 || count[message{Error: "stranger"}] != 1 {
		t.Errorf("told: %v", count)
	}
}

// TestClusterTrouble: a worker that fails, and other data, fail the first node; its
// own end does, too.
func TestClusterTrouble(t *testing.T) {
	t.Run("other data", func(t *testing.T) {
		f, at := testFirst(t, "a")
		go func() { _, _, _ = join(t.Context(), at, message{Node: "a", CRC: 6}) }()
		if err := f.gather(t.Context(), 5); err == nil || !strings.Contains(err.Error(), "node a has made other data") {
			t.Errorf("gather() = %v", err)
		}
	})
	for name, says := range map[string][]message{"fails": {{Error: "no Java"}}, "goes": nil} {
		t.Run(name, func(t *testing.T) {
			f, at := testFirst(t, "a")
			go func() {
				l, _, err := join(t.Context(), at, message{Node: "a"})
				if err != nil {
					return
				}
				for _, m := range says {
					_ = l.send(m)
				}
				_ = l.conn.Close()
			}()
			if err := f.gather(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			trouble := make(chan error, 1)
			err := f.begin(t.Context(), message{Master: "x"}, func(err error) { trouble <- err })
			if err == nil || len(says) > 0 && !strings.Contains(err.Error(), "no Java") || len(says) == 0 && !errors.Is(err, errGone) {
				t.Errorf("begin() = %v", err)
			}
			if err := <-trouble; err == nil {
				t.Error("trouble(nil)")
			}
		})
	}
	t.Run("a node does not come", func(t *testing.T) {
		f, _ := testFirst(t, "a")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("called off"))
		if err := f.gather(ctx, 0); err == nil || !strings.Contains(err.Error(), "called off") {
			t.Errorf("gather() = %v", err)
		}
	})
}

// TestWhy: of a log that ends with other lines the error is told, and of none the
// last line, not all of a long one.
func TestWhy(t *testing.T) {
	for _, tt := range []struct {
		lines []string
		want  string
	}{
		{[]string{"INFO a", "", "INFO b"}, "INFO b"},
		{[]string{"26/11/23 ERROR Worker: no memory", "INFO leaving", "\tat java.lang.Thread"}, "26/11/23 ERROR Worker: no memory"},
		{[]string{"java.net.BindException: in use", "x ERROR later", "INFO"}, "x ERROR later"},
		{[]string{strings.Repeat("ü", longest)}, strings.Repeat("ü", longest/2) + "…"},
	} {
		p := &process{}
		for _, l := range tt.lines {
			p.note(l)
		}
		if p.why != tt.want {
			t.Errorf("of %q: %q, want %q", tt.lines, p.why, tt.want)
		}
	}
}

// TestStranger: who has not the address of a node of the run is told nothing.
func TestStranger(t *testing.T) {
	f, at := testFirst(t, "a")
	f.allowed = []string{"192.0.2.1"}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- f.gather(ctx, 0) }()
	conn, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // only read
	if err := newLine(conn).send(message{Node: "a"}); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 10)); err == nil {
		t.Errorf("%d bytes were told", n)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("gather() = nil")
	}
}
