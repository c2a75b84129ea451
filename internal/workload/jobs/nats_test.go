package jobs

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/jobs"
	"github.com/scalebench/scalebench/internal/workload/jobs/natsqueue"
	"github.com/scalebench/scalebench/test/servers"
	"github.com/scalebench/scalebench/test/servers/s3test"
)

// startNATS starts a real server with JetStream, as a process of its own.
func startNATS(t *testing.T) (url string) {
	t.Helper()
	url, _, _ = startNATSTwice(t)
	return url
}

// startNATSTwice is startNATS of a server that can be killed, and started again at once.
func startNATSTwice(t *testing.T) (url string, kill, again func()) {
	t.Helper()
	binary := servers.Program(t, "nats-server")
	s := servers.New(t, "")
	command := func(port string) *exec.Cmd {
		return s.Command(binary, "-a", "127.0.0.1", "-p", port, "-js", "-sd", s.Dir)
	}
	ready := func() error { return s.Says("", "INFO") }
	s.Listen(command, ready)
	kill = func() {
		if err := s.Process.Kill(); err != nil {
			t.Error(err)
		}
	}
	return "nats://" + s.Addr, kill, func() {
		var err error
		if s.Process, err = servers.Start(command(strings.TrimPrefix(s.Addr, "127.0.0.1:")), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := s.Process.Await(ready, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
}

// openQueue is the queue as whoever sends messages has it.
func openQueue(t *testing.T, url string, lease time.Duration) *natsqueue.Queue {
	t.Helper()
	c := natsqueue.Config{URL: url, Stream: "items", Subject: "items.new", Create: true}
	q, err := natsqueue.Open(t.Context(), c, lease, os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

func publish(t *testing.T, q *natsqueue.Queue, messages ...string) {
	t.Helper()
	if err := q.Publish(t.Context(), messages); err != nil {
		t.Fatal(err)
	}
}

// natsParams are those of a task with the queue, and the rest.
func natsParams(url, rest string) string {
	return fmt.Sprintf(`{"nats": {"url": %q, "stream": "items", "subject": "items.new", "create": true}, %s}`, url, rest)
}

// natsOnGateway are natsParams of a task that uses a gateway, too.
func natsOnGateway(url string, g *s3test.Gateway, rest string) string {
	object := onGateway(g, rest)
	return natsParams(url, object[1:len(object)-1])
}

func checkEmpty(t *testing.T, q *natsqueue.Queue) {
	t.Helper()
	if pending, taken, err := q.Waiting(t.Context()); pending+taken != 0 || err != nil {
		t.Errorf("%d messages wait, %d are taken, %v", pending, taken, err)
	}
}

// TestMessages: names and events are items, each stored once; what is neither is set
// aside, and what tells of other things dropped.
func TestMessages(t *testing.T) {
	t.Parallel()
	url := startNATS(t)
	q := openQueue(t, url, time.Second)
	publish(t, q, "a", "b", "c", "fails",
		`{"Records": [{"eventName": "s3:ObjectCreated:Put", "s3": {"object": {"key": "in/with+space%2B"}}}]}`,
		`{"Records": [{"eventName": "s3:ObjectRemoved:Delete", "s3": {"object": {"key": "a"}}}]}`,
		`{"Event": "s3:TestEvent"}`, `{"neither": 1}`)
	s := newServer(t)
	params := natsParams(url, `"command": "[ {item} != fails ]", "slots": 2, "lease": "1s", "tries": 2`)
	a, b := newTask(t, s, params, 0, 2), newTask(t, s, params, 1, 2)
	ran(t, a, b)
	if diff := cmp.Diff([]string{"a", "b", "c", "in/with space+"}, keysOf(s.records(jobs.Done))); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
	aside := s.records(jobs.SetAside)
	if r := aside["fails"]; len(aside) != 2 || r.Try != 2 || !strings.Contains(r.Error, "exit status 1") || r.Lease != 0 {
		t.Errorf("set aside are %+v", aside)
	}
	if r := aside[""]; !strings.Contains(r.Error, "event of 0 objects") {
		t.Errorf("the message that is no item: %+v", r)
	}
	if n := a.Find("jobs_set_aside").Value + b.Find("jobs_set_aside").Value; n != 2 {
		t.Errorf("%v items are set aside", n)
	}
	checkEmpty(t, q)
}

// TestSilentWorker: an item whose worker died comes again; one whose record is stored and
// whose acknowledgement was lost is done again, and counts once.
func TestSilentWorker(t *testing.T) {
	t.Parallel()
	url := startNATS(t)
	q := openQueue(t, url, time.Second)
	publish(t, q, "dead", "recorded")
	for range 2 { // a worker that takes them and dies
		if m, err := q.Take(t.Context()); m == nil || err != nil {
			t.Fatal(m, err)
		}
	}
	s := newServer(t)
	s.stored["2"] = jobs.Record{Key: "2", Name: "recorded", Outcome: jobs.Done}
	a := newTask(t, s, natsParams(url, `"command": "true", "slots": 1, "lease": "1s"`), 0, 1)
	ran(t, a)
	if r := s.records(jobs.Done)["dead"]; r.Try != 2 || r.Key != "1" {
		t.Errorf("record %+v", r)
	}
	if v := a.Values(); v["jobs_duplicates"] != 1 || v["jobs_done"] != 1 || len(s.stored) != 2 {
		t.Errorf("samples %v, stored %v", v, s.stored)
	}
	checkEmpty(t, q)
}

// TestLostTooOften: an item that kills its workers is set aside.
func TestLostTooOften(t *testing.T) {
	t.Parallel()
	url := startNATS(t)
	q := openQueue(t, url, time.Second)
	publish(t, q, "poison")
	if m, err := q.Take(t.Context()); m == nil || err != nil {
		t.Fatal(m, err)
	}
	s := newServer(t)
	a := newTask(t, s, natsParams(url, `"command": "true", "slots": 1, "lease": "1s", "tries": 1`), 0, 1)
	ran(t, a)
	if r := s.records(jobs.SetAside)["poison"]; r.Error != lostError || a.Find("jobs_set_aside").Value != 1 {
		t.Errorf("record %+v", r)
	}
	checkEmpty(t, q)
}

// TestStoreEvents is the paper's system: who uploads an object makes a message, which is
// an item. Results in the same bucket make messages, too, which are none.
func TestStoreEvents(t *testing.T) {
	t.Parallel()
	url := startNATS(t)
	q := openQueue(t, url, 10*time.Second)
	g := s3test.Start(t, "--event-nats-url", url, "--event-nats-topic", "items.new")
	// Keys that decode to each other: versitygw does not encode them in its events.
	keys := []string{"in/a b", "in/a%20b", "in/a+b", "in/ü?&=#"}
	for i, key := range keys {
		g.Write(t, key, fmt.Sprintf("%d\na", i))
	}
	s := newServer(t)
	params := natsOnGateway(url, g, `"get": {"prefix": "in/"}, "put": {"prefix": "out", "keep": true},
			"function": "sort", "slots": 2, "lease": "10s"`)
	a := newTask(t, s, params, 0, 1)
	ran(t, a)
	done := s.records(jobs.Done)
	if diff := cmp.Diff(keys, keysOf(done)); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
	for i, key := range keys {
		if want := fmt.Sprintf("%d\na\n", i); g.Read(t, done[key].Output) != want {
			t.Errorf("%s: %+v", key, done[key])
		}
	}
	if len(s.stored) != 4 {
		t.Errorf("stored %v", s.stored)
	}
	checkEmpty(t, q)
}

// TestKeysOfEvents: the keys of events can be read in several ways. The object whose ETag the
// event has is meant; without an ETag, the one that is there, or the likeliest.
func TestKeysOfEvents(t *testing.T) {
	t.Parallel()
	g, url := s3test.Start(t), startNATS(t)
	q := openQueue(t, url, time.Second)
	for _, key := range []string{"in/plus a", "in/plus+a", "in/only+b", "in/c c"} {
		g.Write(t, key, key)
	}
	for name, c := range map[string]struct{ key, etagOf, want string }{
		"encoded":                 {"in/plus+a", "in/plus a", "in/plus a"},
		"literal":                 {"in/plus+a", "in/plus+a", "in/plus+a"},
		"overwritten":             {"in/plus+a", "in/c c", "in/plus a"},
		"no tag":                  {"in/plus+a", "", "in/plus a"},
		"no tag, only one":        {"in/only+b", "", "in/only+b"},
		"overwritten, only one":   {"in/only+b", "in/c c", "in/only+b"},
		"encoded with a percent":  {"in%2Fc%20c", "in/c c", "in/c c"},
		"gone, told as encoded":   {"in/gone+d", "in/c c", "in/gone d"},
		"another, not of in/":     {"out/c+c", "in/c c", ""},
		"one reading, not of in/": {"out/c", "in/c c", ""},
	} {
		t.Run(name, func(t *testing.T) {
			etag := ""
			if c.etagOf != "" {
				etag = g.ETag(t, c.etagOf)
			}
			publish(t, q, fmt.Sprintf(
				`{"Records": [{"eventName": "ObjectCreated:Put", "s3": {"object": {"key": %q, "eTag": %q}}}]}`, c.key, etag))
			s := newServer(t)
			a := newTask(t, s, natsOnGateway(url, g, `"get": {"prefix": "in/"}, "command": "[ \"$(cat {in})\" = {item} ]",
				"slots": 1, "lease": "1s", "tries": 1, "max_errors": 1`), 0, 1)
			_ = runAll(t, a) // an object that is gone fails the only item
			var names []string
			for _, r := range s.stored {
				names = append(names, r.Name)
				if gone := strings.Contains(c.key, "gone"); gone != (r.Outcome == jobs.SetAside) {
					t.Errorf("record %+v", r)
				}
			}
			if got := strings.Join(names, ", "); got != c.want {
				t.Errorf("items %q, want %q", got, c.want)
			}
		})
	}
}

// TestStagedEvents: the stream is there before the first of the uploads of which the store
// sends a message.
func TestStagedEvents(t *testing.T) {
	t.Parallel()
	url := startNATS(t)
	g := s3test.Start(t, "--event-nats-url", url, "--event-nats-topic", "items.new")
	s := newServer(t)
	params := natsOnGateway(url, g, `"stage": {"copies": 3, "prefix": "in", "size": "1kB"},
			"get": {"prefix": "in/"}, "function": "copy", "put": {"prefix": "out"}, "slots": 1, "lease": "10s"`)
	ran(t, newTask(t, s, params, 0, 1))
	if done := s.records(jobs.Done); len(done) != 3 {
		t.Errorf("of three uploads these were worked on: %v", done)
	}
}

// TestFed: by time, messages are sent again and again, so that there always are some.
func TestFed(t *testing.T) {
	t.Parallel()
	url := startNATS(t)
	g := s3test.Start(t)
	s := newServer(t)
	params := natsOnGateway(url, g, `"stage": {"copies": 1, "size": "1kB", "announce": true},
			"command": "cat {in}; sleep 0.02", "slots": 2, "duration": "1s"`)
	a := newTask(t, s, params, 0, 1)
	ran(t, a)
	if n := a.last(); n.After != time.Second || n.Value <= 1 {
		t.Errorf("%v jobs until %v", n.Value, n.After)
	}
	if v := a.Values(); v["jobs_failed"]+v["jobs_duplicates"]+v["jobs_set_aside"] != 0 {
		t.Errorf("samples %v", v)
	}
}

// TestQueueKilled: the queue is killed at random moments in mid-work, and comes back. Each
// item is stored once, and none is lost.
func TestQueueKilled(t *testing.T) {
	t.Parallel()
	url, kill, again := startNATSTwice(t)
	q := openQueue(t, url, time.Second)
	const items, kills = 100, 6
	var names []string
	for i := range items {
		names = append(names, fmt.Sprint("item", i))
	}
	publish(t, q, names...)
	s := newServer(t)
	a := newTask(t, s, natsParams(url, `"command": "sleep 0.05", "slots": 4, "lease": "1s", "tries": 9`), 0, 1)
	if err := a.Prepare(t.Context(), a.env); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- a.Run(t.Context(), a.env) }()
	for i := range kills {
		for len(s.records(jobs.Done)) < items*i/(kills+1)+1 {
			select {
			case err := <-ended:
				t.Fatalf("Run() = %v", err)
			case <-time.After(5 * time.Millisecond):
			}
		}
		time.Sleep(rand.N(60 * time.Millisecond)) //nolint:forbidigo // the random moment
		kill()
		time.Sleep(rand.N(200 * time.Millisecond)) //nolint:forbidigo // how long it is away
		again()
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if done := s.records(jobs.Done); len(done) != items || len(s.stored) != items {
		t.Errorf("%d items are done, %d are stored", len(done), len(s.stored))
	}
	if n := a.Find("jobs_done").Value; n != items {
		t.Errorf("%v results counted", n)
	}
	checkEmpty(t, q)
}

func TestNoQueue(t *testing.T) {
	t.Parallel()
	url := startNATS(t)
	const command = `"command": "true"`
	for params, says := range map[string]string{
		fmt.Sprintf(`{"nats": {"url": %q, "stream": "none"}, %s}`, url, command): `there is no stream "none"`,
		fmt.Sprintf(`{"nats": {"url": "nats://127.0.0.1:1",
			"stream": "s"}, %s}`, command): "connecting to NATS at nats://127.0.0.1:1",
	} {
		a := newTask(t, newServer(t), params, 0, 1)
		if err := a.Prepare(t.Context(), a.env); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("Prepare() = %v, want %q", err, says)
		}
	}
	q := openQueue(t, url, time.Second) // makes a consumer that waits 1.5 s
	defer q.Close()
	a := newTask(t, newServer(t), natsParams(url, command+`, "lease": "1m"`), 0, 1)
	if err := a.Prepare(t.Context(), a.env); err == nil || !strings.Contains(err.Error(), "less than lease 1m") {
		t.Errorf("a consumer that does not wait long enough: %v", err)
	}
}
