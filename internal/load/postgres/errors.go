package postgres

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// Codes of the server's errors
// (https://www.postgresql.org/docs/current/errcodes-appendix.html).
const (
	uniqueViolation = "23505"
	undefinedTable  = "42P01"
	noDatabase      = "3D000"
	noPrivilege     = "42501"
	classConnection = "08"
	classAuth       = "28"
)

// kindOf knows the errors of the server and of the library.
func kindOf(err error) (load.Kind, bool) {
	var answer *pgconn.PgError
	switch {
	case errors.As(err, &answer):
		if ends(answer) {
			return load.ErrClosed, true
		}
		return load.ErrStatus, true
	case errors.Is(err, pgconn.ErrConnClosed):
		return load.ErrClosed, true
	case pgconn.Timeout(err):
		return load.ErrTimeout, true
	}
	return 0, false
}

// ends reports whether the server ends the connection with this answer.
func ends(answer *pgconn.PgError) bool {
	return answer.SeverityUnlocalized == "FATAL" || answer.SeverityUnlocalized == "PANIC" ||
		strings.HasPrefix(answer.Code, classConnection)
}

func hasCode(err error, code string) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && answer.Code == code
}

// adminError gives an error of what is not measured a kind of package model.
func adminError(err error) error {
	var answer *pgconn.PgError
	switch {
	case err == nil || errors.Is(err, model.ErrUsage):
		return err
	case !errors.As(err, &answer):
		return fmt.Errorf("%w: %w", model.ErrUnavailable, err)
	case strings.HasPrefix(answer.Code, classAuth):
		return fmt.Errorf("%w: %w; check user and password, and the server's pg_hba.conf", model.ErrDenied, err)
	case answer.Code == noPrivilege:
		return fmt.Errorf("%w: %w; the user needs the right to create tables, or name a schema of its own with ?search_path=", model.ErrDenied, err)
	case answer.Code == noDatabase:
		return fmt.Errorf("%w: %w; create the database or name another one", model.ErrUsage, err)
	}
	return fmt.Errorf("%w: %w", model.ErrUnavailable, err)
}
