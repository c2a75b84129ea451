package loadserver

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// errEnded: the server does not run any more.
var errEnded = errors.New("the server has ended")

// commands are what other goroutines want the loop to do.
type commands struct {
	wake int // an eventfd that becomes readable when there are some

	mu     sync.Mutex
	queue  []command
	closed bool
}

type command struct {
	do   func()
	done chan error
}

func (c *commands) open() (err error) {
	c.wake, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	return err
}

// do returns when the loop has called f, or cannot any more.
func (c *commands) do(f func()) error {
	done := make(chan error, 1)
	if err := c.post(command{f, done}); err != nil {
		return err
	}
	return <-done
}

func (c *commands) post(x command) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errEnded
	}
	c.queue = append(c.queue, x)
	if _, err := unix.Write(c.wake, binary.NativeEndian.AppendUint64(nil, 1)); err != nil {
		return fmt.Errorf("waking the server: %w", err)
	}
	return nil
}

// obey is called by the loop when there are commands.
func (c *commands) obey() {
	var count [8]byte
	_, _ = unix.Read(c.wake, count[:]) // it is only to become unreadable again
	for _, x := range c.take(false) {
		x.do()
		x.done <- nil
	}
}

func (c *commands) take(last bool) []command {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = c.closed || last
	queue := c.queue
	c.queue = nil
	return queue
}

// close refuses what was not done, and what may come.
func (c *commands) close() {
	for _, x := range c.take(true) {
		x.done <- errEnded
	}
	if c.wake >= 0 {
		_ = unix.Close(c.wake) // nothing is lost
		c.wake = -1
	}
}
