package postgres

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/scalebench/scalebench/internal/model"
)

func TestClassify(t *testing.T) {
	state := func(code string) error { return fmt.Errorf("query: %w", &pgconn.PgError{Code: code}) }
	tests := []struct {
		err   error
		kind  error
		retry bool
	}{
		{state("08006"), model.ErrUnavailable, false},
		{state("53100"), model.ErrUnavailable, false}, // disk full
		{state("53300"), model.ErrUnavailable, false}, // too many connections
		{state("57P01"), model.ErrUnavailable, false}, // admin shutdown
		{state("57P03"), model.ErrUnavailable, false}, // cannot connect now
		{state("58030"), model.ErrUnavailable, false}, // I/O error
		{state("25006"), model.ErrUnavailable, false}, // read-only
		{state("40001"), model.ErrUnavailable, true},  // serialization failure
		{state("40P01"), model.ErrUnavailable, true},  // deadlock
		{state("28P01"), model.ErrDenied, false},
		{state("42501"), model.ErrDenied, false},
		{state("3D000"), model.ErrUsage, false},
		{state("23503"), model.ErrNotFound, false},
		{state("23505"), nil, false},
		{state("42601"), nil, false}, // syntax error: ours
		{state(""), nil, false},
		{io.ErrUnexpectedEOF, model.ErrUnavailable, false},
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, model.ErrUnavailable, false},
		{fmt.Errorf("write: %w", syscall.EPIPE), model.ErrUnavailable, false},
		{pgconn.ErrConnClosed, model.ErrUnavailable, false},
		{errors.New("something else"), nil, false},
	}
	for _, tt := range tests {
		if got := classify(tt.err); !errors.Is(got.Kind, tt.kind) || got.Retry != tt.retry {
			t.Errorf("classify(%v) = %v, retry %v, want %v, retry %v", tt.err, got.Kind, got.Retry, tt.kind, tt.retry)
		}
	}
}
