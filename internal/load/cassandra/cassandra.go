// Package cassandra is Apache Cassandra, and what speaks CQL, as a kv.Store:
// one partition of one row a record, one column a field. Statements are
// prepared when a session is opened; an operation is one round trip.
//
// The library's sessions are made to be shared by a whole program, which then
// sends over few connections what many of its goroutines want. Here each client
// has a session of its own instead: what one client sends never waits behind
// what another does, nor for more to send at once, so that a latency is that of
// the server and not of the generator. It costs a second connection a client,
// over which the library asks about the cluster while it opens a session, and
// then only whether the server is alive. The library neither retries nor
// reconnects by itself: what a user of it would not notice, a measurement has
// to.
//
// With one host in the URL all operations go there. With several the library
// finds the whole cluster, and each session has a connection to every node and
// sends an operation to one that holds the record.
//
// Cassandra cannot tell inserts from updates without asking all replicas
// first, which would be slow: both write what they are given, whether the
// record was there or not.
package cassandra

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"golang.org/x/sync/errgroup"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/kv"
	"github.com/scalebench/scalebench/internal/model"
)

// Store is a keyspace of a cluster.
type Store struct {
	address kv.Address
	options options
}

var _ kv.Store = (*Store)(nil)

// New is for a URL:
//
//	cassandra://user:password@host1,host2:9042/keyspace?consistency=one
//
// or cassandras:// for TLS. All hosts have the same port. A keyspace with a
// name that begins with "scalebench_" is made with the data set if it is not there, and
// then removed with it; another must be there. Without a name it is "scalebench_kv". Parameters are
//
//   - consistency of reads and writes: quorum (the default), one, local_one,
//     local_quorum, …
//   - replication: how many copies there are, in a keyspace that is made;
//     1 is the default.
//
// New does not connect. The error is model.ErrUsage.
func New(rawURL string) (*Store, error) {
	address, err := kv.ParseAddress(rawURL, example, "cassandra", "cassandras")
	if err != nil {
		return nil, err
	}
	o, err := parseOptions(address.URL())
	if err != nil {
		return nil, address.Refuse(err)
	}
	return &Store{address: address, options: o}, nil
}

// Name is the URL without the password and the parameters.
func (s *Store) Name() string { return s.address.String() }

// Trust implements kv.Store.
func (s *Store) Trust(roots *x509.CertPool) bool {
	s.options.roots = roots
	return s.options.tls
}

const checkKeyspace = "check that the keyspace exists"

// advice is for codes of the server's errors.
var advice = kv.Advice{
	model.ErrDenied: {
		strconv.Itoa(gocql.ErrCodeCredentials): "check user and password",
		strconv.Itoa(gocql.ErrCodeUnauthorized): "the user needs the right to create tables, " +
			"or a keyspace of its own in the URL",
	},
	model.ErrUsage: {strconv.Itoa(gocql.ErrCodeInvalid): checkKeyspace, strconv.Itoa(gocql.ErrCodeConfig): checkKeyspace},
}

// Explain implements kv.Store.
func (s *Store) Explain(err error) error {
	return s.address.Explain(err, strconv.Itoa(codeOf(err)), advice)
}

// Connect opens a session and prepares its statements.
func (s *Store) Connect(ctx context.Context, shape kv.Shape) (kv.Session, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return nil, &load.Error{Kind: load.ErrConnect, Err: err}
	}
	x := &session{conn: c, texts: statements(s.options.table(recordTable), shape)}
	if err := x.prepare(ctx); err != nil {
		err = errors.Join(s.address.Connecting(s.Explain(err)), x.Close())
		return nil, &load.Error{Kind: load.ErrConnect, Err: err}
	}
	return x, nil
}

// Admin opens a connection.
func (s *Store) Admin(ctx context.Context) (kv.Admin, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	return &admin{conn: c, options: s.options}, nil
}

// connect opens a session of the library. The error is model.ErrDenied,
// ErrUsage or ErrUnavailable.
func (s *Store) connect(ctx context.Context) (*conn, error) {
	c, err := connect(ctx, s.options.cluster())
	if err != nil {
		return nil, s.address.Connecting(s.Explain(err))
	}
	return c, nil
}

// example is shown where a URL is not understood.
const example = "cassandra://user:password@host1,host2:9042/keyspace?consistency=quorum&replication=1 (cassandras:// for TLS)"

// protocol is the newest version of CQL's binary protocol that all servers
// since Cassandra 2.2, and those of others, understand. Naming it saves finding
// out with each session.
const protocol = 4

// options are what a URL says.
type options struct {
	hosts       []string
	port        int
	keyspace    string
	consistency gocql.Consistency
	replication int
	user        *url.Userinfo // nil without one
	tls         bool
	roots       *x509.CertPool // nil: the system's
}

// keyspaceName is what can be written in CQL without quotes.
var keyspaceName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)

// parseOptions reads a URL of the right scheme.
func parseOptions(u *url.URL) (options, error) {
	o := options{
		port: 9042, keyspace: cmp.Or(strings.Trim(u.Path, "/"), "scalebench_kv"), user: u.User, tls: u.Scheme == "cassandras",
		hosts: strings.Split(u.Hostname(), ","), consistency: gocql.Quorum, replication: 1,
	}
	if slices.Contains(o.hosts, "") {
		return o, errors.New("a host has no name")
	}
	if !keyspaceName.MatchString(o.keyspace) {
		return o, fmt.Errorf("the keyspace name %q must consist of lower-case letters, digits and _", o.keyspace)
	}
	if port := u.Port(); port != "" {
		var err error
		if o.port, err = strconv.Atoi(port); err != nil || o.port < 1 || o.port > 65535 {
			return o, fmt.Errorf("the port %s must be from 1 to 65535", port)
		}
	}
	return o, o.parameters(u.Query())
}

// parameters reads what stands behind the question mark.
func (o *options) parameters(values url.Values) error {
	for name, all := range values {
		value := all[len(all)-1]
		switch name {
		case "consistency":
			c, err := gocql.ParseConsistencyWrapper(strings.ToUpper(value))
			if err != nil {
				return fmt.Errorf("the consistency %q must be one, local_one, quorum, local_quorum, all, …", value)
			}
			o.consistency = c
		case "replication":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 {
				return fmt.Errorf("the replication %q must be a number of copies", value)
			}
			o.replication = n
		default:
			// Neither name nor value is shown: it may be a misplaced secret.
			return errors.New("unknown parameter; use consistency or replication")
		}
	}
	return nil
}

// ours: the keyspace is made with the data set, if there is none.
func (o options) ours() bool { return strings.HasPrefix(o.keyspace, "scalebench_") }

// cluster configures a session of the library: it waits for nothing before it
// sends, repeats nothing, and does no more in the background than it must. It
// knows no keyspace; statements name it.
func (o options) cluster() *gocql.ClusterConfig {
	c := gocql.NewCluster(o.hosts...)
	c.Port, c.ProtoVersion, c.Consistency, c.NumConns = o.port, protocol, o.consistency, 1
	// The context says how long an operation may take, and nothing else.
	c.Timeout, c.WriteTimeout, c.ConnectTimeout = 0, 0, 10*time.Second
	c.WriteCoalesceWaitTime = 0
	c.ReconnectInterval = 0
	c.ReconnectionPolicy = &gocql.ConstantReconnectionPolicy{MaxRetries: 1} // one try
	c.Events.DisableNodeStatusEvents = true
	c.Events.DisableTopologyEvents = true
	c.Events.DisableSchemaEvents = true
	c.Logger = gocql.NewLogger(gocql.LogLevelNone) // errors are returned, too
	// A server without passwords does not look at this.
	password, _ := o.user.Password()
	c.Authenticator = gocql.PasswordAuthenticator{Username: o.user.Username(), Password: password}
	if o.tls {
		c.SslOpts = &gocql.SslOptions{Config: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.roots},
			EnableHostVerification: true}
	}
	if len(o.hosts) == 1 { // all operations go there
		c.DisableInitialHostLookup = true
		c.Metadata.CacheMode = gocql.Disabled
	} else {
		c.Metadata.CacheMode = gocql.KeyspaceOnly // how many copies there are, and where
		c.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(gocql.RoundRobinHostPolicy())
	}
	return c
}

// table writes a table with its keyspace.
func (o options) table(name string) string { return o.keyspace + "." + name }

// The tables, in the keyspace of the URL.
const (
	recordTable = "scalebench_kv"
	stateTable  = "scalebench_kv_state" // holds the description of the data set
)

type admin struct {
	*conn
	options options
}

// Find reads the description.
func (a *admin) Find(ctx context.Context) (description string, err error) {
	if made, err := a.made(ctx); err != nil || !made {
		return "", err
	}
	err = a.Query("SELECT description FROM "+a.options.table(stateTable)+" WHERE id = 0").ScanContext(ctx, &description)
	if errors.Is(err, gocql.ErrNotFound) {
		return "", nil
	}
	return description, err
}

// Count reads all keys, page by page: count(*) would be one request, which a
// large table takes longer for than the server allows. Nodes send each other whole records
// for it: a page of 5,000 of 4 KB took more memory than a small node has.
func (a *admin) Count(ctx context.Context) (n int64, err error) {
	if made, err := a.made(ctx); err != nil || !made {
		return 0, err
	}
	rows := a.Query("SELECT k FROM " + a.options.table(recordTable)).PageSize(1000).IterContext(ctx)
	var key string
	for rows.Scan(&key) {
		n++
	}
	return n, rows.Close()
}

// withKeyspace follows kv.Mark in the comment of the state's table where Create has made
// the keyspace, too.
const withKeyspace = ", with its keyspace"

// found is what there is in the keyspace.
type found struct {
	ours         []string // tables that Create has made
	others       bool     // anything else
	withKeyspace bool     // Create has made the keyspace
}

// find looks at the keyspace. A table of one of our names that another program has made is
// an error, model.ErrUsage.
func (a *admin) find(ctx context.Context) (f found, err error) {
	rows := a.Query("SELECT table_name, comment FROM system_schema.tables WHERE keyspace_name = ?",
		a.options.keyspace).IterContext(ctx)
	var name, comment string
	for rows.Scan(&name, &comment) {
		switch {
		case name != recordTable && name != stateTable:
			f.others = true
		case !strings.HasPrefix(comment, kv.Mark):
			err = cmp.Or(err, kv.Foreign("the table "+a.options.table(name), "keyspace"))
		default:
			f.ours = append(f.ours, name)
			f.withKeyspace = f.withKeyspace || comment == kv.Mark+withKeyspace
		}
	}
	err = cmp.Or(rows.Close(), err)
	for _, kind := range []string{"types", "views", "functions", "aggregates"} {
		more := a.Query("SELECT keyspace_name FROM system_schema."+kind+" WHERE keyspace_name = ?",
			a.options.keyspace).IterContext(ctx)
		f.others = f.others || more.NumRows() > 0
		err = cmp.Or(err, more.Close())
	}
	return f, err
}

// made reports whether there are both tables that Create makes.
func (a *admin) made(ctx context.Context) (bool, error) {
	f, err := a.find(ctx)
	return len(f.ours) == 2, err
}

// Create makes the tables, and the keyspace if its name says that it may and there is none.
func (a *admin) Create(ctx context.Context, shape kv.Shape) error {
	if err := a.Drop(ctx); err != nil {
		return err
	}
	var keyspaces int
	err := a.Query("SELECT count(*) FROM system_schema.keyspaces WHERE keyspace_name = ?",
		a.options.keyspace).ScanContext(ctx, &keyspaces)
	if err != nil {
		return err
	}
	var statements []string
	mark := kv.Mark
	if a.options.ours() && keyspaces == 0 {
		mark += withKeyspace
		statements = append(statements, fmt.Sprintf(
			"CREATE KEYSPACE %s WITH replication = {'class': 'SimpleStrategy', 'replication_factor': %d}",
			a.options.keyspace, a.options.replication))
	}
	columns := strings.Join(shape.Names(), " text, ") + " text"
	return a.execute(ctx, append(statements,
		"CREATE TABLE "+a.options.table(stateTable)+" (id int PRIMARY KEY, description text) WITH comment = '"+mark+"'",
		"CREATE TABLE "+a.options.table(recordTable)+" (k text PRIMARY KEY, "+columns+") WITH comment = '"+kv.Mark+"'")...)
}

// execute changes the schema; the library waits until all nodes agree on it.
func (a *admin) execute(ctx context.Context, statements ...string) (err error) {
	for _, s := range statements {
		if err == nil {
			err = a.Query(s).ExecContext(ctx)
		}
	}
	return err
}

// Load writes rows, with 32 statements under way, each of one row: a batch of
// several partitions would burden the one server that must then deal it out.
func (a *admin) Load(ctx context.Context, shape kv.Shape, rows []kv.Row) error {
	defer a.sockets.closeAfter(ctx)()
	insert := statements(a.options.table(recordTable), shape).Insert
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(32)
	for _, row := range rows {
		group.Go(func() error { return a.Query(insert, row.Values()...).ExecContext(ctx) })
	}
	return group.Wait()
}

// Finish writes the description. What the server has in memory is written to
// files when it likes; that it does so during a measurement is a part of how it
// works, and no client can tell it to.
func (a *admin) Finish(ctx context.Context, description string) error {
	insert := "INSERT INTO " + a.options.table(stateTable) + " (id, description) VALUES (0, ?)"
	return a.Query(insert, description).ExecContext(ctx)
}

// Drop removes the tables, and the keyspace if Create has made it and nobody else has put
// anything into it. A schema has no transactions: who makes a table of our name between the
// look and the removal loses it.
func (a *admin) Drop(ctx context.Context) error {
	f, err := a.find(ctx)
	if err != nil {
		return err
	}
	if f.withKeyspace && !f.others {
		return a.execute(ctx, "DROP KEYSPACE "+a.options.keyspace)
	}
	var drop []string
	for _, table := range f.ours {
		drop = append(drop, "DROP TABLE "+a.options.table(table))
	}
	return a.execute(ctx, drop...)
}
