package kvtest

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"sync"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/kv"
	"github.com/scalebench/scalebench/internal/model"
)

// Memory is a store in this process, for tests of what is above stores. It
// passes the suite.
type Memory struct {
	mu          sync.Mutex
	description string
	records     map[string]kv.Record
	down        bool
	stalled     chan struct{} // closed: it answers
}

// NewMemory makes an empty store.
func NewMemory() *Memory {
	m := &Memory{stalled: make(chan struct{})}
	close(m.stalled)
	return m
}

var _ kv.Store = (*Memory)(nil)

// Name is "memory".
func (m *Memory) Name() string { return "memory" }

// Stall keeps all operations on records waiting until release is called.
func (m *Memory) Stall() (release func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	stalled := make(chan struct{})
	m.stalled = stalled
	return func() { close(stalled) }
}

// Stop breaks all connections, and refuses others.
func (m *Memory) Stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = true
}

func (m *Memory) connect() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		return &load.Error{Kind: load.ErrConnect, Err: fmt.Errorf("%w: stopped", model.ErrUnavailable)}
	}
	return nil
}

// Connect opens a session.
func (m *Memory) Connect(context.Context, kv.Shape) (kv.Session, error) {
	return &memorySession{m}, m.connect()
}

// Admin opens a connection.
func (m *Memory) Admin(context.Context) (kv.Admin, error) { return &memoryAdmin{m}, m.connect() }

// use waits until the store answers, and locks it.
func (m *Memory) use(ctx context.Context) (unlock func(), err error) {
	m.mu.Lock()
	stalled := m.stalled
	m.mu.Unlock()
	select {
	case <-stalled:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return nil, &load.Error{Kind: load.ErrTimeout, Err: ctx.Err()}
	}
	m.mu.Lock()
	if m.down {
		m.mu.Unlock()
		return nil, &load.Error{Kind: load.ErrClosed, Err: io.EOF}
	}
	return m.mu.Unlock, nil
}

type memorySession struct{ m *Memory }

// find locks the store and finds a record; without an error, the caller unlocks.
func (s *memorySession) find(ctx context.Context, key string) (record kv.Record, unlock func(), err error) {
	unlock, err = s.m.use(ctx)
	if err != nil {
		return nil, nil, err
	}
	record, ok := s.m.records[key]
	if !ok {
		unlock()
		return nil, nil, kv.ErrMissing
	}
	return record, unlock, nil
}

func (s *memorySession) Read(ctx context.Context, key string, into kv.Record) error {
	record, unlock, err := s.find(ctx, key)
	if err != nil {
		return err
	}
	defer unlock()
	for i := range into {
		into[i] = append(into[i][:0], record[i]...)
	}
	return nil
}

func (s *memorySession) Update(ctx context.Context, key string, field int, value []byte) error {
	record, unlock, err := s.find(ctx, key)
	if err != nil {
		return err
	}
	defer unlock()
	record[field] = bytes.Clone(value)
	return nil
}

func (s *memorySession) Insert(ctx context.Context, key string, record kv.Record) error {
	unlock, err := s.m.use(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if _, ok := s.m.records[key]; ok {
		return kv.ErrExists
	}
	s.m.records[key] = cloneRecord(record)
	return nil
}

func (s *memorySession) Close() error { return nil }

func cloneRecord(r kv.Record) kv.Record {
	c := make(kv.Record, len(r))
	for i, value := range r {
		c[i] = bytes.Clone(value)
	}
	return c
}

type memoryAdmin struct{ m *Memory }

func (a *memoryAdmin) Find(ctx context.Context) (string, error) {
	unlock, err := a.m.use(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	return a.m.description, nil
}

func (a *memoryAdmin) Count(ctx context.Context) (int64, error) {
	unlock, err := a.m.use(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	return int64(len(a.m.records)), nil
}

func (a *memoryAdmin) Create(ctx context.Context, _ kv.Shape) error {
	return a.set(ctx, "", map[string]kv.Record{})
}

func (a *memoryAdmin) Finish(ctx context.Context, description string) error {
	return a.set(ctx, description, a.m.records)
}

func (a *memoryAdmin) Drop(ctx context.Context) error { return a.set(ctx, "", nil) }

func (a *memoryAdmin) set(ctx context.Context, description string, records map[string]kv.Record) error {
	unlock, err := a.m.use(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	a.m.description, a.m.records = description, records
	return nil
}

func (a *memoryAdmin) Close() error { return nil }

func (a *memoryAdmin) Load(ctx context.Context, _ kv.Shape, rows []kv.Row) error {
	unlock, err := a.m.use(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	for _, row := range rows {
		a.m.records[row.Key] = cloneRecord(row.Fields)
	}
	return nil
}

// Trust implements kv.Store: it speaks no TLS.
func (*Memory) Trust(*x509.CertPool) bool { return false }

// Explain implements kv.Store: all that is wrong with it has a kind.
func (*Memory) Explain(err error) error { return err }
