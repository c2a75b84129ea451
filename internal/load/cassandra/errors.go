package cassandra

import (
	"context"
	"errors"
	"fmt"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/kv"
	"github.com/scalebench/scalebench/internal/model"
)

// fault gives the error of an operation its kind.
func fault(ctx context.Context, err error) error { return kv.Fault(ctx, err, kindOf) }

// kindOf knows the errors of the server and of the library. A server that says
// that it has not heard from enough replicas in time, that not enough of them
// are up, or that it is overloaded, has answered; the connection is fine, and
// the text of the error says which it was.
func kindOf(err error) (load.Kind, bool) {
	var answer gocql.RequestError
	switch {
	case errors.As(err, &answer):
		if answer.Code() == gocql.ErrCodeProtocol {
			return load.ErrProtocol, true
		}
		return load.ErrStatus, true
	case errors.Is(err, gocql.ErrTimeoutNoResponse):
		return load.ErrTimeout, true
	case errors.Is(err, gocql.ErrConnectionClosed), errors.Is(err, gocql.ErrNoConnections),
		errors.Is(err, gocql.ErrSessionClosed), errors.Is(err, gocql.ErrUnavailable):
		return load.ErrClosed, true
	}
	return 0, false
}

func hasCode(err error, code int) bool {
	var answer gocql.RequestError
	return errors.As(err, &answer) && answer.Code() == code
}

// adminError gives an error of what is not measured a kind of package model.
func adminError(err error) error {
	var answer gocql.RequestError
	switch {
	case err == nil || errors.Is(err, model.ErrUsage):
		return err
	case !errors.As(err, &answer):
		return fmt.Errorf("%w: %w", model.ErrUnavailable, err)
	}
	switch answer.Code() {
	case gocql.ErrCodeCredentials:
		return fmt.Errorf("%w: %w; check user and password", model.ErrDenied, err)
	case gocql.ErrCodeUnauthorized:
		return fmt.Errorf("%w: %w; the user needs the right to create tables, or a keyspace of its own in the URL", model.ErrDenied, err)
	case gocql.ErrCodeInvalid, gocql.ErrCodeConfig:
		return fmt.Errorf("%w: %w; does the keyspace exist?", model.ErrUsage, err)
	}
	return fmt.Errorf("%w: %w", model.ErrUnavailable, err)
}
