package control_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/control"
	"github.com/scalebench/scalebench/internal/model"
)

// Requests that read whole runs wait for each other, and no other request waits
// for them; a handler says when one begins and ends.
func TestHeavyRequestsAreFew(t *testing.T) {
	s := newServer(t)
	begun, hold := make(chan struct{}, 10), make(chan struct{})
	h := control.NewHandler(s, func() func() { begun <- struct{}{}; <-hold; return func() {} })
	for _, verb := range []string{"page", "page"} {
		go func() { _, _ = h.Handle(t.Context(), verb, []byte(`"latest"`)) }()
		<-begun
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Handle(ctx, "data", []byte(`"latest"`)); !errors.Is(err, context.Canceled) {
		t.Errorf("a third request that reads a run: %v, want %v", err, context.Canceled)
	}
	if _, err := h.Handle(t.Context(), "runs", []byte("{}")); err != nil {
		t.Errorf("a request that reads no run: %v", err)
	}
	close(hold)
	if _, err := h.Handle(t.Context(), "data", []byte(`"`+string(run)+`"`)); err != nil {
		t.Errorf("after that: %v", err)
	}
	if _, err := control.Handle(t.Context(), s, "runs", []byte("["+strings.Repeat("{},", 1<<16)+"{}]")); !errors.Is(err, model.ErrUsage) {
		t.Errorf("a request of many values: %v, want %v", err, model.ErrUsage)
	}
}
