package loadserver

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"
)

// childVariable in the environment tells a process that it is a server.
const childVariable = "SCALEBENCH_LOADSERVER"

// order is what a parent sends; the first thing it sends is a Behaviour.
type order struct {
	// Set changes the behaviour to New; otherwise the record is taken.
	Set bool
	New Behaviour
}

// reply is what the server answers to an order, and once when it is ready.
type reply struct {
	Address string        // host:port
	Since   time.Duration // when the behaviour was set
	Record  Record
	// Failure is empty where there was none.
	Failure string
}

// Child is called first thing in TestMain of packages that use [Start]. In a
// process that Start has made it is the server, and returns the exit code
// when the parent has closed its standard input, or died; is says so.
// Otherwise it returns at once.
func Child() (code int, is bool) {
	if os.Getenv(childVariable) == "" {
		return 0, false
	}
	// A collection stops the world just when an answer is due. What grows is
	// the record, and that is bounded by how long tests last.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(512 << 20)
	if err := serve(os.Stdin, os.Stdout, true); err != nil {
		fmt.Fprintln(os.Stderr, "loadserver:", err)
		return 1, true
	}
	return 0, true
}

// serve runs a server that takes orders from in. It comes before all others on
// its processor if it is urgent and the system allows it.
func serve(in io.Reader, out io.Writer, urgent bool) error {
	from, to := gob.NewDecoder(in), gob.NewEncoder(out)
	var b Behaviour
	if err := from.Decode(&b); err != nil {
		return fmt.Errorf("reading the behaviour: %w", err)
	}
	l, err := newLoop(b)
	if err != nil {
		return errors.Join(err, to.Encode(reply{Failure: err.Error()}))
	}
	ended := make(chan error, 1)
	go func() { ended <- l.run(urgent) }()
	err = to.Encode(reply{Address: l.address})
	if err == nil {
		err = obey(l, from, to)
	}
	return errors.Join(err, l.stop(), <-ended)
}

// obey executes orders until the end of from.
func obey(l *loop, from *gob.Decoder, to *gob.Encoder) error {
	for {
		var o order
		if err := from.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading an order: %w", err)
		}
		if err := to.Encode(execute(l, o)); err != nil {
			return fmt.Errorf("replying: %w", err)
		}
	}
}

func execute(l *loop, o order) reply {
	r := reply{Address: l.address}
	var err error
	if o.Set {
		r.Since, err = l.set(o.New)
	} else {
		r.Record, err = l.take()
	}
	if err != nil {
		r.Failure = err.Error()
	}
	return r
}
