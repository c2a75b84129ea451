package sqlstore

import (
	"database/sql"
	"database/sql/driver"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/scalebench/scalebench/internal/model"
)

// sqlValues gives values, or places of values, the form in which the database takes
// them: names and texts are [text], times [instant], and what has fields or
// elements a [document].
func sqlValues(values []any) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = sqlValue(v)
	}
	return out
}

func sqlValue(v any) any {
	switch v := v.(type) {
	case nil, []byte, *[]byte, *sql.RawBytes, driver.Valuer:
		return v
	case time.Time:
		return instant(v)
	case *time.Time:
		return (*instant)(v)
	}
	r := reflect.ValueOf(v)
	if r.Kind() == reflect.String {
		return text(r.String())
	}
	if r.Kind() == reflect.Pointer {
		switch r.Elem().Kind() {
		case reflect.String:
			return r.Convert(reflect.TypeFor[*text]()).Interface()
		case reflect.Struct, reflect.Map, reflect.Slice:
			return document{v}
		}
	}
	return v
}

// text is a text column. PostgreSQL refuses NUL and invalid UTF-8 in text, and
// both occur in what programs print; such strings, and the ones that look like
// it, are stored as textMark and base64, all others as they are.
type text string

const textMark = "\x01"

// Value implements driver.Valuer.
func (t text) Value() (driver.Value, error) {
	s := string(t)
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 && !strings.HasPrefix(s, textMark) {
		return s, nil
	}
	return textMark + base64.StdEncoding.EncodeToString([]byte(s)), nil
}

// Scan implements sql.Scanner.
func (t *text) Scan(src any) error {
	s, ok := src.(string)
	if !ok {
		return fmt.Errorf("text column holds %T", src)
	}
	coded, ok := strings.CutPrefix(s, textMark)
	if !ok {
		*t = text(s)
		return nil
	}
	raw, err := base64.StdEncoding.DecodeString(coded)
	if err != nil {
		return fmt.Errorf("text column: %w", err)
	}
	*t = text(raw)
	return nil
}

// instant is a time column: nanoseconds since 1970 in UTC, NULL for the zero
// time.
type instant time.Time

// Value implements driver.Valuer. Times outside the years 1678 to 2261 do not
// fit and are refused.
func (i instant) Value() (driver.Value, error) {
	t := time.Time(i)
	if t.IsZero() {
		return nil, nil
	}
	ns := t.UnixNano()
	if !time.Unix(0, ns).Equal(t) {
		return nil, fmt.Errorf("%w: time %v cannot be stored; the year must be from 1678 to 2261", model.ErrInvalid, t)
	}
	return ns, nil
}

// Scan implements sql.Scanner.
func (i *instant) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*i = instant{}
	case int64:
		*i = instant(time.Unix(0, v).UTC())
	default:
		return fmt.Errorf("time column holds %T", src)
	}
	return nil
}

// document is a column of JSON text.
type document struct{ v any } // a pointer

// Value implements driver.Valuer.
func (d document) Value() (driver.Value, error) {
	b, err := json.Marshal(d.v)
	if err != nil {
		return nil, fmt.Errorf("%w: encoding %T: %w", model.ErrInvalid, d.v, err)
	}
	return string(b), nil
}

// Scan implements sql.Scanner.
func (d document) Scan(src any) error {
	s, ok := src.(string)
	if !ok {
		return fmt.Errorf("JSON column holds %T", src)
	}
	if err := json.Unmarshal([]byte(s), d.v); err != nil {
		return fmt.Errorf("decoding %T: %w", d.v, err)
	}
	return nil
}
