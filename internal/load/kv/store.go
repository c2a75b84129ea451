// Package kv offers the load of key-value workloads to data stores: records of
// several fields under keys, which are read, updated and inserted in some mix,
// popular ones more often. The workloads are those of YCSB (Cooper, Silberstein,
// Tam, Ramakrishnan, Sears: Benchmarking Cloud Serving Systems with YCSB, SoCC
// 2010) and those of the paper on black-box throughput (Table I), which are
// made of the same parts.
//
// The way of a run:
//
//  1. A [Dataset] says how many records there are and what is in each of them.
//     Every byte follows from the record's number and the field's version, so
//     that a reader can tell whether a record is right.
//  2. [Load] writes the records into a [Store] in batches over several
//     connections, counts them, and marks the data set as complete. A data set
//     that is there already is used again.
//  3. A [Workload] says which operations are done how often and which records
//     are popular: its [Distribution].
//  4. A [Target] hands out clients for a load.Driver. Each has a connection of
//     its own, a [Session], and draws its records with random numbers of its
//     own; they share only the counter of records inserted.
//
// Packages beside this one implement Store for one product each; package
// kvtest is the suite that all of them pass.
package kv

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// Record is the values of a record's fields, in order.
type Record [][]byte

// Row is a record and the key it is stored under.
type Row struct {
	Key    string
	Fields Record
}

// What a session says of a record. Both are wrapped in the errors of sessions,
// and neither ends the session.
var (
	// ErrMissing: no record has this key, or a part of it is missing.
	ErrMissing = errors.New("no such record")
	// ErrExists: there is a record under this key already.
	ErrExists = errors.New("the record exists already")
)

// Store is a data store under test. It keeps what it is given under names that
// begin with "scalebench_" (where the product has none but keys, they begin
// with "scalebench:"), and never touches anything else.
type Store interface {
	// Name says which store this is, for people: a URL without secrets.
	Name() string
	// Connect opens a connection for operations that are measured. Its errors
	// carry a load.Error of kind ErrConnect. The shape says what is stored.
	Connect(ctx context.Context, shape Shape) (Session, error)
	// Admin opens a connection for what is not measured.
	Admin(ctx context.Context) (Admin, error)
	// Trust has connections over TLS trust these authorities alone; false where the
	// store is not spoken to over TLS.
	Trust(roots *x509.CertPool) bool
	// Explain gives an error of what is not measured a kind of package model and says
	// what to do. Neither it nor Name holds a password.
	Explain(err error) error
}

// Trusting has a store trust further authorities, if there are any. secure says
// how its URL asks for TLS. The error is model.ErrUsage.
func Trusting(s Store, t load.Trust, secure string) error {
	roots, err := t.Roots()
	if err == nil && roots != nil && !s.Trust(roots) {
		return fmt.Errorf("%w: certificates to trust (--cacert, ca_pem:) only apply over TLS: use %s", model.ErrUsage,
			secure)
	}
	return err
}

// Shape is what the schema of a store depends on.
type Shape struct {
	// Fields is how many each record has; they are called field0, field1, …
	// where a store names them.
	Fields int
	// FieldSize is the size of each in bytes. Values are printable ASCII.
	FieldSize int
}

// Names are what the fields are called.
func (s Shape) Names() []string {
	names := make([]string, s.Fields)
	for i := range names {
		names[i] = "field" + strconv.Itoa(i)
	}
	return names
}

// Statements are those of a session that speaks SQL, or what is like it here.
type Statements struct {
	Read, Insert string
	Update       []string // by field
}

// Statements are for a table with the key in column k. param is the placeholder of the
// n-th argument, from 1.
func (s Shape) Statements(table string, param func(n int) string) Statements {
	fields := s.Names()
	out := Statements{
		Read:   "SELECT " + strings.Join(fields, ", ") + " FROM " + table + " WHERE k = " + param(1),
		Insert: "INSERT INTO " + table + " (k, " + strings.Join(fields, ", ") + ") VALUES " + Params(param, 1+len(fields)),
	}
	for _, field := range fields {
		out.Update = append(out.Update, "UPDATE "+table+" SET "+field+" = "+param(1)+" WHERE k = "+param(2))
	}
	return out
}

// Params is a list of n placeholders in parentheses.
func Params(param func(n int) string, n int) string {
	p := make([]string, n)
	for i := range p {
		p[i] = param(i + 1)
	}
	return "(" + strings.Join(p, ", ") + ")"
}

// Values are the arguments of a statement that inserts a record: the key and the
// fields.
func (r Row) Values() []any {
	args := append(make([]any, 0, 1+len(r.Fields)), r.Key)
	for _, value := range r.Fields {
		args = append(args, value)
	}
	return args
}

// Mark is what a store writes to whatever it makes: the comment of a table, the beginning
// of a description. What does not carry it is not removed or written over.
const Mark = "made by scalebench, which may drop it"

// Foreign is the error of kind model.ErrUsage for what has the name of something that
// scalebench makes and does not carry its mark; instead says what else can be named.
func Foreign(what, instead string) error {
	return fmt.Errorf("%w: %s exists and is not marked as made by scalebench, so that it is left alone; "+
		"rename it, remove it if nobody needs it, or use another %s", model.ErrUsage, what, instead)
}

// Session does one operation at a time, over a connection of its own, without
// retrying anything. Errors carry a load.Error, or wrap [ErrMissing] or
// [ErrExists]. When ctx is done an operation ends, with kind ErrTimeout.
type Session interface {
	// Read copies all fields of a record into as many slices; it cuts or grows
	// each to the size of what it has read.
	Read(ctx context.Context, key string, into Record) error
	// Update replaces one field of a record that there is. A store that cannot
	// tell may write a part of one that there was not; Read then says
	// [ErrMissing].
	Update(ctx context.Context, key string, field int, value []byte) error
	// Insert writes a record that there was not. A store that cannot tell
	// may replace one that there was.
	Insert(ctx context.Context, key string, record Record) error
	Close() error
}

// Admin prepares a store and cleans up after it. What its errors mean says
// [Store.Explain].
type Admin interface {
	// Find returns the description that Finish stored; "" if
	// there is no data set, or an incomplete one.
	Find(ctx context.Context) (description string, err error)
	// Count counts the stored records; 0 without a data set.
	Count(ctx context.Context) (int64, error)
	// Create makes an empty data set and drops an existing one. What is in the way and
	// does not carry the [Mark] is left as it is: [Foreign].
	Create(ctx context.Context, shape Shape) error
	// Load writes rows that are not there yet. It does not keep them.
	Load(ctx context.Context, shape Shape, rows []Row) error
	// Finish marks the data set as complete, and has the store do now what
	// it would do sooner or later after so many inserts, so that it does not
	// disturb a measurement.
	Finish(ctx context.Context, description string) error
	// Drop removes the data set and everything else that Create made. It is
	// no error if there is nothing.
	Drop(ctx context.Context) error
	Close() error
}

// Address is the URL of a data store, for packages that implement [Store]. Its
// secrets appear in nothing that it says.
type Address struct {
	url     *url.URL
	example string
}

// ParseAddress reads a URL of one of these schemes. The error is
// model.ErrUsage; it shows the example and never the URL: in text that cannot
// be parsed, the password may be anywhere.
func ParseAddress(raw, example string, schemes ...string) (Address, error) {
	u, err := url.Parse(raw)
	if err != nil || !slices.Contains(schemes, u.Scheme) || u.Opaque != "" {
		return Address{}, fmt.Errorf("%w: cannot parse the data store's URL (not shown, it may hold a password); use %s, with special characters in the password written as %%XX",
			model.ErrUsage, example)
	}
	return Address{u, example}, nil
}

// Refuse says what is wrong with the URL, as model.ErrUsage.
func (a Address) Refuse(err error) error {
	return fmt.Errorf("%w: %s: %w; use %s", model.ErrUsage, a, a.Hide(err), a.example)
}

// URL returns the URL with its secrets.
func (a Address) URL() *url.URL { return a.url }

// Password returns the password, "" without one.
func (a Address) Password() string {
	password, _ := a.url.User.Password()
	return password
}

// String is the URL without the password and without parameters, which may be
// secrets too; only a host and a socket are shown.
func (a Address) String() string {
	clean := url.URL{Scheme: a.url.Scheme, Host: a.url.Host, Path: a.url.Path}
	if name := a.url.User.Username(); name != "" {
		clean.User = url.User(name)
	}
	shown := url.Values{}
	for _, p := range []string{"host", "socket"} {
		if v := a.url.Query().Get(p); v != "" {
			shown.Set(p, v)
		}
	}
	clean.RawQuery = shown.Encode()
	return clean.String()
}

// Hide returns an error that says the same without the secrets, in whatever
// form of them the URL or a library has used.
func (a Address) Hide(err error) error {
	if err == nil {
		return nil
	}
	msg := err.Error()
	for _, secret := range a.secrets() {
		for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
			msg = strings.ReplaceAll(msg, form, "xxxxx")
		}
	}
	if msg == err.Error() {
		return err
	}
	return &load.Redacted{Text: msg, Err: err}
}

// secrets lists the values that must not be shown, the longest first, so that
// none is left over that has another one inside.
func (a Address) secrets() []string {
	secrets := []string{a.Password()}
	for name, values := range a.url.Query() {
		if slices.ContainsFunc([]string{"pass", "key", "secret", "token"}, func(part string) bool { return strings.Contains(strings.ToLower(name), part) }) {
			secrets = append(secrets, values...)
		}
	}
	secrets = slices.DeleteFunc(secrets, func(s string) bool { return s == "" })
	slices.SortFunc(secrets, func(x, y string) int { return len(y) - len(x) })
	return secrets
}

// Advice is what to do about errors of a server, by kind of package model and by their
// codes, or how these begin.
type Advice map[error]map[string]string

// Explain is [Store.Explain] for an error with a code, which is empty if the server has
// not answered.
func (a Address) Explain(err error, code string, advice Advice) error {
	known := []error{model.ErrUsage, model.ErrInvalid, model.ErrDenied, model.ErrUnavailable}
	if err == nil || slices.ContainsFunc(known, func(kind error) bool { return errors.Is(err, kind) }) {
		return a.Hide(err)
	}
	for kind, texts := range advice {
		for begins, text := range texts {
			if strings.HasPrefix(code, begins) {
				return a.Hide(fmt.Errorf("%w: %w; %s", kind, err, text))
			}
		}
	}
	return a.Hide(fmt.Errorf("%w: %w", model.ErrUnavailable, err))
}

// Connecting says where it was tried to connect to.
func (a Address) Connecting(err error) error { return fmt.Errorf("connecting to %s: %w", a, err) }
