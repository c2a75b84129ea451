// Package wire is what master, agents and clients say to each other: message
// types, their validation, and nothing about how they travel (package queue)
// or how they are signed (package identity).
package wire

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// Hello is an agent's registration; it is sent at every start and whenever
// the server was restarted.
type Hello struct {
	Node model.Node `json:"node"`
	// Session is new at every start of the agent process.
	Session string `json:"session"`
	// Holding lists the attempts that the agent is executing now or still has
	// to deliver the results of.
	Holding []Attempt `json:"holding,omitempty"`
}

// HelloReply admits a node.
type HelloReply struct {
	Lease     time.Duration `json:"lease"`     // silence after which a node is lost
	Heartbeat time.Duration `json:"heartbeat"` // how often to be heard
	Version   string        `json:"version"`   // of the server
}

// Attempt names one attempt at a task.
type Attempt struct {
	Task    model.TaskID `json:"task"`
	Attempt int          `json:"attempt"`
}

func (a Attempt) String() string { return fmt.Sprintf("%s#%d", a.Task, a.Attempt) }

// Assignment is the message that makes a node run a task. The master signs it,
// and sends it again until the agent shows by a Heartbeat, Ready or Result that
// it has it; the agent verifies signature, node, key and expiry before it does
// anything, and runs an attempt once.
type Assignment struct {
	Run     model.RunID  `json:"run"`
	Step    model.StepID `json:"step"`
	Task    model.TaskID `json:"task"`
	Attempt int          `json:"attempt"`
	Node    model.NodeID `json:"node"`
	// NodeKey is the public key of the agent that may run it.
	NodeKey string     `json:"node_key"`
	Barrier bool       `json:"barrier"`
	Spec    model.Spec `json:"spec"`
	// Self is where the node is reached by the others; Peers and Clients are
	// the hosts that Spec.Peers and Spec.Clients name, in the same order.
	Self    model.Host   `json:"self"`
	Peers   []model.Host `json:"peers,omitempty"`
	Clients []model.Host `json:"clients,omitempty"`
	// ReadyTimeout bounds how long the agent waits for the start.
	ReadyTimeout time.Duration `json:"ready_timeout"`
	Issued       time.Time     `json:"issued"`
	Expires      time.Time     `json:"expires"`
}

// Heartbeat says that an agent lives, and what it does.
type Heartbeat struct {
	Node    model.NodeID `json:"node"`
	Session string       `json:"session"`
	Running *Attempt     `json:"running,omitempty"`
	// Trouble is what keeps the agent from going on now, for people.
	Trouble string `json:"trouble,omitempty"`
}

// maxTrouble is the longest Heartbeat.Trouble, in bytes.
const maxTrouble = 1 << 10

// Ready says that an agent has prepared a task with a barrier. It is repeated
// until a start or a cancel arrives.
type Ready struct {
	Node model.NodeID `json:"node"`
	Attempt
	ClockOffset time.Duration `json:"clock_offset"` // server minus node
	ClockError  time.Duration `json:"clock_error"`
}

// ReadyReply answers a Ready: At is set as soon as the start is agreed.
type ReadyReply struct {
	At     time.Time `json:"at,omitzero"` // server time
	Cancel bool      `json:"cancel,omitempty"`
}

// OrderKind is what an order asks for.
type OrderKind string

// Start begins the tasks of a step at an absolute time; Cancel ends them. Look
// asks what the node lacks of what a run needs; it is repeated until a Missing
// answers. Over says that no task of the step measures any more, so that its
// services may end. Record asks a node to send [Readings] each second, for
// [RecordFor]; it is repeated for as long as somebody watches.
const (
	OrderStart  OrderKind = "start"
	OrderCancel OrderKind = "cancel"
	OrderLook   OrderKind = "look"
	OrderOver   OrderKind = "over"
	OrderRecord OrderKind = "record"
)

// RecordFor is how long a node sends its readings after an order to record.
const RecordFor = 10 * time.Second

// Order is broadcast by the master to all agents of a step, or for Look of a
// run, or for Record of none; signed.
type Order struct {
	Kind    OrderKind    `json:"kind"`
	Run     model.RunID  `json:"run"`
	Step    model.StepID `json:"step"`
	Attempt int          `json:"attempt"` // Cancel: this attempt and all before
	At      time.Time    `json:"at,omitzero"`
	Reason  string       `json:"reason,omitempty"`
	Inquiry string       `json:"inquiry,omitempty"` // Look: which one the answer is to
	Needs   []Need       `json:"needs,omitempty"`   // Look
}

// Need is what a run needs of a node: either a program or a variable.
type Need struct {
	// Program is a name, looked up on Path or else on the PATH of tasks, or an
	// absolute path.
	Program string `json:"program,omitempty"`
	Path    string `json:"path,omitempty"`
	// Variable is the name of one of the agent's environment.
	Variable string `json:"variable,omitempty"`
}

// Missing answers a Look.
type Missing struct {
	Node    model.NodeID `json:"node"`
	Inquiry string       `json:"inquiry"`
	Needs   []int        `json:"needs,omitempty"` // positions in the order's, of what the node lacks
}

// Readings are what the monitor of a node read last, for who watches. One that is
// lost is made up for by the next: each has the readings of some seconds.
type Readings struct {
	Node model.NodeID `json:"node"`
	// Began is when the recording began, by the server's clock. Offsets of the
	// series count from it.
	Began time.Time          `json:"began"`
	Host  []model.HostSeries `json:"host"`
}

// Last is when the latest of the readings was taken.
func (r Readings) Last() time.Time {
	last := int64(0)
	for _, s := range r.Host {
		if n := len(s.Offsets); n > 0 {
			last = max(last, s.Offsets[n-1])
		}
	}
	return r.Began.Add(time.Duration(last))
}

// Bounds of Readings: how many rows and how many series.
const (
	MaxReadings = 16
	maxWatched  = 4096
)

// Bounds of a Look: how many needs it can name, and how long their texts are, in
// bytes.
const (
	MaxNeeds = 256
	maxNeed  = 4096
)

// ResultReply answers a delivered result.
type ResultReply struct {
	// Stored: it is safe, the agent may forget it. Dropped: the server does not
	// want it (run deleted, attempt over); forget it. Neither: keep it and try
	// again.
	Stored  bool   `json:"stored"`
	Dropped bool   `json:"dropped,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// Chunk is a part of an artifact.
type Chunk struct {
	Attempt
	Node   model.NodeID `json:"node"`
	Name   string       `json:"name"`
	Offset int64        `json:"offset"`
	Data   []byte       `json:"data"`
}

// Progress is the live view of a running task; it may be lost.
type Progress struct {
	Attempt
	Node model.NodeID `json:"node"`
	Run  model.RunID  `json:"run"`
	Step model.StepID `json:"step"`
	model.Progress
	// Stages are set instead where some began or ended, in their order.
	Stages []model.StageChange `json:"stages,omitempty"`
	// Live is set instead where it is how things are now.
	Live map[string]float64 `json:"live,omitempty"`
}

// MaxStages is how many Progress.Stages there may be, and maxLive of Progress.Live.
const (
	MaxStages = 64
	maxLive   = 256
)

// FittedStage is a stage with texts that are cut to what a server takes.
func FittedStage(s model.StageChange) model.StageChange {
	s.Name, s.Service, s.State, s.Reason = cut(s.Name, maxName), cut(s.Service, maxName), cut(s.State, maxName), cut(s.Reason, maxText)
	return s
}

// Goodbye says that an agent leaves of its own will. Owes: the task that it was
// at has ended, and its result comes at once.
type Goodbye struct {
	Owes    bool         `json:"owes,omitempty"`
	Node    model.NodeID `json:"node"`
	Session string       `json:"session"`
}

// Report is something an agent wants the server to know: a refused task, an
// unfinished attempt found after a restart.
type Report struct {
	Node  model.NodeID `json:"node"`
	Event model.Event  `json:"event"`
}

// MaxChunk is the largest Chunk.Data.
const MaxChunk = 256 << 10

// Message is every message of this package.
type Message interface{ check() error }

// Check reports what makes a message unusable.
func Check(m Message) error { return m.check() }

// FromNode is a message of an agent about a node, which must be the sender's.
type FromNode interface {
	Message
	from() model.NodeID
}

// From is the node that a message is about.
func From(m FromNode) model.NodeID { return m.from() }

func (h Hello) from() model.NodeID     { return h.Node.ID }
func (h Heartbeat) from() model.NodeID { return h.Node }
func (r Ready) from() model.NodeID     { return r.Node }
func (r Result) from() model.NodeID    { return r.Node }
func (c Chunk) from() model.NodeID     { return c.Node }
func (p Progress) from() model.NodeID  { return p.Node }
func (g Goodbye) from() model.NodeID   { return g.Node }
func (r Report) from() model.NodeID    { return r.Node }
func (m Missing) from() model.NodeID   { return m.Node }
func (r Readings) from() model.NodeID  { return r.Node }

// Decode parses and checks a message. It never panics on any input.
func Decode[T Message](data []byte) (T, error) {
	var m T
	if err := Bounded(data); err != nil {
		return m, fmt.Errorf("decoding %T: %w", m, err)
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("decoding %T: %w: %w", m, ErrForm, err)
	}
	if err := m.check(); err != nil {
		return m, fmt.Errorf("checking %T: %w: %w", m, ErrForm, err)
	}
	return m, nil
}

func (h Hello) check() error {
	if h.Session == "" {
		return errors.New("no session")
	}
	if len(h.Holding) > maxHeld {
		return fmt.Errorf("holds %d attempts, and may hold %d", len(h.Holding), maxHeld)
	}
	for _, a := range h.Holding {
		if err := a.check(); err != nil {
			return err
		}
	}
	return cmp.Or(h.Node.ID.Validate(), checkNames(h.Session), checkNode(h.Node))
}

func (a Attempt) check() error {
	if a.Task == "" || a.Attempt < 1 {
		return fmt.Errorf("no task or attempt: %.40q %d", a.Task, a.Attempt)
	}
	return checkNames(string(a.Task))
}

func (a Assignment) check() error {
	if err := (Attempt{a.Task, a.Attempt}).check(); err != nil {
		return err
	}
	if a.Step == "" || a.NodeKey == "" || a.Spec.Kind == "" {
		return errors.New("no step, node key or workload kind")
	}
	if len(a.Peers) != len(a.Spec.Peers) || len(a.Clients) != len(a.Spec.Clients) {
		return errors.New("the hosts differ from those that the task names")
	}
	if a.Spec.Timeout <= 0 || (a.Barrier && a.ReadyTimeout <= 0) {
		return errors.New("no timeout")
	}
	return cmp.Or(a.Run.Validate(), a.Node.Validate())
}

func (HelloReply) check() error  { return nil }
func (ReadyReply) check() error  { return nil }
func (ResultReply) check() error { return nil }
func (r Ready) check() error     { return cmp.Or(r.Attempt.check(), r.Node.Validate()) }
func (g Goodbye) check() error   { return cmp.Or(g.Node.Validate(), checkNames(g.Session)) }

func (p Progress) check() error {
	if len(p.Stages) > MaxStages || len(p.Live) > maxLive {
		return fmt.Errorf("%d stages and %d values, and there may be %d and %d", len(p.Stages), len(p.Live), MaxStages, maxLive)
	}
	for name := range p.Live {
		if err := checkNames(name); err != nil {
			return err
		}
	}
	for _, s := range p.Stages {
		if err := checkNames(s.Name, s.Service, s.State); err != nil || len(s.Reason) > maxText {
			return cmp.Or(err, errors.New("too long a text"))
		}
	}
	return cmp.Or(p.Attempt.check(), p.Node.Validate(), checkNames(p.Metric, p.Unit, string(p.Run), string(p.Step)))
}

func (r Report) check() error {
	if len(r.Event.Text) > maxText {
		return fmt.Errorf("a text of %d bytes, and it may have %d", len(r.Event.Text), maxText)
	}
	return cmp.Or(r.Node.Validate(), checkNames(string(r.Event.Kind), string(r.Event.Task)))
}

func (h Heartbeat) check() error {
	if len(h.Trouble) > maxTrouble {
		return errors.New("too long a text")
	}
	err := cmp.Or(h.Node.Validate(), checkNames(h.Session))
	if err == nil && h.Running != nil {
		err = h.Running.check()
	}
	return err
}

func (o Order) check() error {
	switch o.Kind {
	case OrderStart:
		if o.At.IsZero() {
			return errors.New("start without a time")
		}
	case OrderCancel, OrderOver:
	case OrderRecord:
		return nil
	case OrderLook:
		if o.Inquiry == "" || len(o.Needs) == 0 || len(o.Needs) > MaxNeeds {
			return fmt.Errorf("look %q for %d things: 1 to %d are possible", o.Inquiry, len(o.Needs), MaxNeeds)
		}
		for _, n := range o.Needs {
			if err := n.check(); err != nil {
				return err
			}
		}
		return o.Run.Validate()
	default:
		return fmt.Errorf("unknown order %q", o.Kind)
	}
	if o.Step == "" {
		return errors.New("no step")
	}
	return o.Run.Validate()
}

func (n Need) check() error {
	if (n.Program == "") == (n.Variable == "") || len(n.Program)+len(n.Path)+len(n.Variable) > maxNeed {
		return errors.New("need of neither a program nor a variable, of both, or with too long a text")
	}
	return nil
}

func (m Missing) check() error {
	if m.Inquiry == "" || len(m.Needs) > MaxNeeds {
		return fmt.Errorf("answer to look %q: %d things are missing", m.Inquiry, len(m.Needs))
	}
	for _, i := range m.Needs {
		if i < 0 || i >= MaxNeeds {
			return fmt.Errorf("the missing thing %d does not exist", i)
		}
	}
	return m.Node.Validate()
}

func (r Readings) check() error {
	if r.Began.IsZero() || len(r.Host) > maxWatched {
		return fmt.Errorf("readings of %d series, that began at %v", len(r.Host), r.Began)
	}
	for _, s := range r.Host {
		if n := len(s.Offsets); n != len(s.Values) || n > MaxReadings {
			return fmt.Errorf("host metric %.40s: %d offsets, %d values", s.Metric, n, len(s.Values))
		}
		if err := checkNames(s.Metric, s.Unit); err != nil {
			return err
		}
	}
	return r.Node.Validate()
}

func (c Chunk) check() error {
	if err := c.Attempt.check(); err != nil {
		return err
	}
	if c.Name == "" || len(c.Name) > maxName || c.Offset < 0 || len(c.Data) > MaxChunk {
		return errors.New("bad artifact name, offset or size")
	}
	return c.Node.Validate()
}

// errChunk says that the bytes are not an encoded chunk.
var errChunk = fmt.Errorf("decoding wire.Chunk: %w: not a chunk", ErrForm)

// EncodeChunk is the form in which chunks travel: the length of the JSON
// header (4 bytes, big endian), the header, and the data as it is. In JSON the
// data would grow by a third.
func EncodeChunk(c Chunk) ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("encoding wire.Chunk: %w", err)
	}
	data := c.Data
	c.Data = nil
	header, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encoding wire.Chunk: %w", err)
	}
	out := make([]byte, 0, 4+len(header)+len(data))
	out = binary.BigEndian.AppendUint32(out, uint32(len(header)))
	return append(append(out, header...), data...), nil
}

// DecodeChunk parses and checks what EncodeChunk made. The chunk's data shares
// memory with the input. It never panics on any input.
func DecodeChunk(b []byte) (Chunk, error) {
	if len(b) < 4 {
		return Chunk{}, errChunk
	}
	n, rest := binary.BigEndian.Uint32(b), b[4:]
	if uint64(n) > uint64(len(rest)) {
		return Chunk{}, errChunk
	}
	var c Chunk
	if err := json.Unmarshal(rest[:n], &c); err != nil {
		return Chunk{}, fmt.Errorf("decoding wire.Chunk: %w: %w", ErrForm, err)
	}
	c.Data = rest[n:]
	if err := c.check(); err != nil {
		return Chunk{}, fmt.Errorf("checking wire.Chunk: %w: %w", ErrForm, err)
	}
	return c, nil
}

// Result is a model.Result on the wire.
type Result struct{ model.Result }

// storable is a time as it is, or none where nanoseconds since 1970 cannot hold it.
func storable(t time.Time) time.Time {
	if !time.Unix(0, t.UnixNano()).Equal(t) {
		return time.Time{}
	}
	return t
}

// Failed takes the place of a result that cannot be used: an attempt that ended
// must not look as if it went on. Nothing in it can keep it from being stored.
func Failed(r model.Result, why string) model.Result {
	return model.Result{
		Run: r.Run, Step: r.Step, Task: r.Task, Attempt: r.Attempt, Node: r.Node,
		Outcome: model.OutcomeFailed, Error: why,
		Started: storable(r.Started), Ended: storable(r.Ended), ClockOffset: r.ClockOffset, ClockError: r.ClockError,
	}
}

func (r Result) check() error {
	if err := (Attempt{r.Task, r.Attempt}).check(); err != nil {
		return err
	}
	if !r.Outcome.Valid() {
		return fmt.Errorf("unknown outcome %q", r.Outcome)
	}
	for _, s := range r.Series {
		if len(s.Offsets) != len(s.Values) {
			return fmt.Errorf("series %s: %d offsets, %d values", s.Metric, len(s.Offsets), len(s.Values))
		}
	}
	for _, s := range r.Host {
		if len(s.Offsets) != len(s.Values) {
			return fmt.Errorf("host metric %s: %d offsets, %d values", s.Metric, len(s.Offsets), len(s.Values))
		}
	}
	if len(r.Kept) > model.MaxKept {
		return fmt.Errorf("%d files are kept, and may be %d", len(r.Kept), model.MaxKept)
	}
	for _, f := range r.Kept {
		if !model.CanKeep(f.Name) || f.Size < 0 {
			return fmt.Errorf("a file %.40q of %d bytes cannot be kept", f.Name, f.Size)
		}
	}
	return cmp.Or(r.Node.Validate(), r.checkTexts())
}
