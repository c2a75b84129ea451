// Package probe asks servers what they are doing: how many of their threads and
// pooled connections are busy, how many requests they answered, and how long that
// took them.
//
//  1. [Probe] says which server, and how it is asked. [Probe.Check] says what is
//     wrong with it; [Probe.Open] connects to nothing yet.
//  2. [Session.Read] asks once. It fails as a whole or has an answer; nothing is
//     made up for what a server does not tell.
//  3. A server that was restarted counts from 0 again. Its counters go on here
//     from what they were, and [Session.Notes] says how often that was.
//
// What a probe does to a server is taken out of what the server tells where it
// can be: its connection, its thread, its requests. [Metrics] lists what there is
// to know; which of it a kind of server tells, [Kinds] says.
package probe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/recording"
	"github.com/scalebench/scalebench/internal/unit"
)

// Probe says how a server tells what it does.
type Probe struct {
	Kind string `json:"kind" jsonschema:"required,minLength=1" jsonschema_description:"What the service is."` // one of [Kinds]
	// URL is where it is asked: of a page for haproxy (ending in ;csv), apache
	// (?auto), tomcat (JMXProxyServlet, with user:password@) and board
	// (/_board/status), of a database for mariadb and postgres.
	URL string `json:"url,omitempty" jsonschema_description:"Where it tells. It is kept with the run, and a password in it, too."`
	// File and Pattern are for accesslog: a file that grows, and a regular
	// expression for its lines with some of the named groups micros, millis or
	// seconds, path, bytes, status. It lies in Folder, if there is one, and links do not
	// lead out of that; otherwise, not out of its own folder.
	Folder  string `json:"-"`
	File    string `json:"file,omitempty" jsonschema_description:"For accesslog: the file that grows, in the folder of the service."`
	Pattern string `json:"pattern,omitempty" jsonschema_description:"For accesslog: a regular expression of its lines, with named groups."`
	// Every is the time between readings; a second if zero.
	Every unit.Duration `json:"every,omitempty" jsonschema_description:"Time between questions, at most 2s. Default: 1s."`
}

// Kind is a kind of server.
type Kind struct {
	Name string
	// Tells are the metrics that it has; "response[*]" stands for one for each
	// interaction.
	Tells []string

	schemes []string // of its URL; nil: it has none
	open    func(Probe) (server, error)
}

// Kinds lists the kinds of servers that can be asked.
func Kinds() []Kind {
	web := []string{"http", "https"}
	const database = "threads_busy threads_max sessions sessions_max lock_waiting requests"
	const byName = "requests response errors requests[*] response[*] "
	kind := func(name, tells string, open func(Probe) (server, error), schemes ...string) Kind {
		return Kind{name, strings.Fields(tells), schemes, open}
	}
	return []Kind{
		kind("haproxy", "requests errors sessions sessions_max pool_active pool_max pool_waiting", overHTTP(readHAProxy),
			web...),
		kind("apache", "threads_busy threads_max requests response sessions", overHTTP(readApache), web...),
		kind("tomcat",
			"threads_busy threads_max sessions sessions_max requests response errors pool_active pool_max pool_waiting",
			openTomcat, web...),
		kind("mariadb", database, openMariaDB, "mysql", "mariadb"),
		kind("postgres", database, openPostgres, "postgres", "postgresql"),
		kind("board",
			byName+"threads_busy threads_max threads_queue sessions sessions_max pool_active pool_max pool_waiting pool_wait",
			overHTTP(readBoard), web...),
		kind("accesslog", byName+"body_bytes", openLog),
	}
}

// Metrics lists what servers tell. What a kind does not tell, [Kinds] leaves out.
func Metrics() []recording.Metric {
	return slices.Concat(
		recording.States("1",
			// threads (of databases: sessions) that are at work on a request; of tomcat: of its
			// fullest connector
			"threads_busy",
			"threads_max",   // how many may be
			"threads_queue", // requests that wait for a thread
			// connections to what is behind it that are in use, of the fullest pool; of haproxy:
			// requests that its fullest server is at work on
			"pool_active",
			"pool_max",     // how many may be
			"pool_waiting", // requests that wait for one
			// connections that the server says it has, those of users and of tiers in front
			"sessions",
			"sessions_max", // how many it would accept
			"lock_waiting", // sessions of a database that wait for a lock (mariadb: for a row)
		),
		recording.Counters("s",
			// time of all such waits together; its rate is the mean number of requests that wait
			"pool_wait",
			// time that answering took the server, of all requests together; its rate over that of
			// requests is the mean response time there
			"response",
		),
		recording.Counters("1",
			"requests", // answered; of mariadb statements, of postgres transactions
			"errors",   // answers with a status of 400 or more
		),
		recording.Counters("byte",
			"body_bytes", // of answers, as the access log counts them
		),
		recording.Metric{Unit: "1", Counter: true, Late: true}.Named(
			"requests[*]", // requests of one interaction
		),
		recording.Metric{Unit: "s", Counter: true, Late: true}.Named(
			"response[*]", // response of one interaction
		),
	)
}

// Pattern is the name under which [Metrics] lists a metric.
func Pattern(name string) string {
	if i := strings.IndexByte(name, '['); i >= 0 {
		return name[:i] + "[*]"
	}
	return name
}

// find returns the kind of a probe.
func (p Probe) find() (Kind, error) {
	var names []string
	for _, k := range Kinds() {
		if k.Name == p.Kind {
			return k, nil
		}
		names = append(names, k.Name)
	}
	return Kind{}, fmt.Errorf("unknown kind of probe %q: use one of %s", p.Kind, strings.Join(names, ", "))
}

// Tells are the metrics that this probe may have: those of its kind, of an access
// log those that its pattern has a group for.
func (p Probe) Tells() []string {
	k, _ := p.find() // an unknown one tells nothing
	if p.Pattern == "" {
		return k.Tells
	}
	return slices.DeleteFunc(slices.Clone(k.Tells), func(name string) bool {
		group := map[string]string{"errors": "status", "body_bytes": "bytes", "requests[*]": "path", "response[*]": "path"}[name]
		return group != "" && !strings.Contains(p.Pattern, "<"+group+">")
	})
}

// Check says what is wrong with a probe, and what to do. Nothing is asked.
func (p Probe) Check() error {
	s, err := p.Open()
	if err != nil {
		return err
	}
	s.Close()
	return nil
}

// String names the probe in messages, without a password.
func (p Probe) String() string {
	if p.URL == "" {
		return p.Kind + " " + p.File
	}
	u, err := url.Parse(p.URL)
	if err != nil {
		return p.Kind // the text that is not understood may hold a password
	}
	return p.Kind + " " + u.Redacted()
}

// Open prepares to ask the server; it need not run yet.
func (p Probe) Open() (*Session, error) {
	k, err := p.find()
	if err == nil {
		err = p.checkURL(k)
	}
	if err != nil {
		return nil, err
	}
	s, err := k.open(p)
	if err != nil {
		return nil, fmt.Errorf("probe %s: %w", p, err)
	}
	counters := map[string]bool{}
	for _, m := range Metrics() {
		counters[m.Name] = m.Counter
	}
	return &Session{server: s, now: time.Now, isCounter: counters, counters: map[string]*total{}}, nil
}

func (p Probe) checkURL(k Kind) error {
	switch {
	case k.schemes == nil && p.URL != "":
		return fmt.Errorf("probe %s takes a file and a pattern: remove url", p.Kind)
	case k.schemes == nil:
		return nil
	case p.File != "" || p.Pattern != "":
		return fmt.Errorf("probe %s takes a url: remove file and pattern", p.Kind)
	}
	u, err := url.Parse(p.URL)
	if err != nil {
		return fmt.Errorf("probe %s: its url is not understood: use %s://HOST:PORT/…", p.Kind, k.schemes[0])
	}
	if !slices.Contains(k.schemes, u.Scheme) || u.Host == "" && !u.Query().Has("socket") && !u.Query().Has("host") {
		return fmt.Errorf("probe %s: use %s://HOST:PORT/…", p, k.schemes[0])
	}
	return nil
}

// server is one that can be asked.
type server interface {
	// ask fills an answer. What the probe itself caused is not in it.
	ask(ctx context.Context, a *answer) error
	close()
}

// answer is what a server told.
type answer struct {
	values map[string]float64
	// up is how long the server has run, in seconds; 0 where it does not tell.
	up float64
}

// add adds to a metric, which then is there.
func (a *answer) add(name string, v float64) { a.values[name] += v }

// Session is a server that is asked again and again. It is for one goroutine.
type Session struct {
	server    server
	now       func() time.Time
	isCounter map[string]bool // by pattern
	counters  map[string]*total
	restarts  int
	up        float64 // at the last answer
	// asked is when the last answer was asked for, and answered when it came.
	asked, answered time.Time
}

// total carries a counter over restarts.
type total struct {
	before float64 // of earlier lives of the server
	last   float64 // as the server told it, the highest of this life
}

// Read asks once and returns what was told, by metric.
func (s *Session) Read(ctx context.Context) (map[string]float64, error) {
	a := &answer{values: map[string]float64{}}
	asked := s.now()
	if err := s.server.ask(ctx, a); err != nil {
		return nil, err
	}
	for name, v := range a.values {
		if math.IsNaN(v) || math.IsInf(v, 0) { // in a counter it would stay
			return nil, fmt.Errorf("the server tells %v as %s, which is no number: the reading is left out", v, name)
		}
	}
	now := s.now()
	if s.restarted(a, asked, now) {
		s.restarts++
		for _, t := range s.counters {
			t.before, t.last = t.before+t.last, 0
		}
	}
	s.up, s.asked, s.answered = a.up, asked, now
	for name, v := range a.values {
		if !s.isCounter[Pattern(name)] {
			continue
		}
		t := s.counters[name]
		if t == nil {
			t = &total{}
			s.counters[name] = t
		}
		// One that goes back a little without a restart, as when it is put together from two
		// that are not read at once, stands still.
		t.last = max(t.last, v)
		a.values[name] = t.before + t.last
	}
	return a.values, nil
}

// slack is by how much uptimes may be off the time between answers: they are
// whole seconds.
const slack = 2 * time.Second

// restarted reports whether the server counts anew since the last answer. asked
// is when it was asked, and now when it answered: an answer may take seconds, and
// its uptime is of any moment of them. The uptime of a server that was restarted
// has grown less than the time from the last answer to this question, and is no
// longer than the time since the last question. One that is longer is of a server
// that takes it from a wall clock, which was set back.
func (s *Session) restarted(a *answer, asked, now time.Time) bool {
	switch {
	case s.answered.IsZero():
		return false
	case a.up > 0 && s.up > 0:
		return a.up-s.up < (asked.Sub(s.answered)-slack).Seconds() && a.up <= (now.Sub(s.asked)+slack).Seconds()
	}
	for name, t := range s.counters {
		if v, ok := a.values[name]; ok && v < t.last {
			return true
		}
	}
	return false
}

// Notes are what is doubtful about the answers so far.
func (s *Session) Notes() []string {
	var notes []string
	if s.restarts > 0 {
		notes = append(notes, fmt.Sprintf("the server was restarted, %d times: what it counted between the last reading and its end is missing", s.restarts))
	}
	if n, ok := s.server.(interface{ notes() []string }); ok {
		notes = append(notes, n.notes()...)
	}
	return notes
}

// Close ends what connections there are.
func (s *Session) Close() { s.server.close() }

// errNoAnswer is the beginning of what is said of an answer that is not that of
// the kind of server.
var errNoAnswer = errors.New("this is no answer of such a server")

// missing says which of the words that an answer must have it lacks.
func missing[T any](have map[string]T, want ...string) error {
	for _, w := range want {
		if _, ok := have[w]; !ok {
			return fmt.Errorf("%w: it lacks %q; it has %s", errNoAnswer, w, strings.Join(slices.Sorted(maps.Keys(have))[:min(len(have), 5)], ", "))
		}
	}
	return nil
}
