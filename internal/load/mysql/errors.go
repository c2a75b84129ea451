package mysql

import (
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// Numbers of the server's errors
// (https://mariadb.com/kb/en/mariadb-error-code-reference/), the same in MySQL.
const (
	dbAccessDenied    = 1044
	accessDenied      = 1045
	unknownDatabase   = 1049
	serverShutdown    = 1053
	duplicateEntry    = 1062
	tableAccessDenied = 1142
	noSuchTable       = 1146
	connectionKilled  = 1927
)

// kindOf knows the errors of the server and of the library.
func kindOf(err error) (load.Kind, bool) {
	var answer *mysql.MySQLError
	switch {
	case errors.As(err, &answer):
		if answer.Number == serverShutdown || answer.Number == connectionKilled {
			return load.ErrClosed, true
		}
		return load.ErrStatus, true
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, mysql.ErrInvalidConn):
		return load.ErrClosed, true
	case errors.Is(err, mysql.ErrPktTooLarge):
		return load.ErrStatus, true
	}
	return 0, false
}

func hasNumber(err error, number uint16) bool {
	var answer *mysql.MySQLError
	return errors.As(err, &answer) && answer.Number == number
}

// adminError gives an error of what is not measured a kind of package model.
func adminError(err error) error {
	var answer *mysql.MySQLError
	if err == nil || errors.Is(err, model.ErrUsage) {
		return err
	}
	if errors.As(err, &answer) {
		switch answer.Number {
		case accessDenied, dbAccessDenied:
			return fmt.Errorf("%w: %w; check user and password, and the user's rights to the database", model.ErrDenied, err)
		case tableAccessDenied:
			return fmt.Errorf("%w: %w; the user needs the rights to create, drop and use tables in the database", model.ErrDenied, err)
		case unknownDatabase:
			return fmt.Errorf("%w: %w; create the database or name another one", model.ErrUsage, err)
		}
	}
	return fmt.Errorf("%w: %w", model.ErrUnavailable, err)
}
