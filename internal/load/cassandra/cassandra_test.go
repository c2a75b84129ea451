package cassandra_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/cassandra"
	"github.com/scalebench/scalebench/internal/load/kv"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/kvtest"
	"github.com/scalebench/scalebench/test/proof/parts"
	"github.com/scalebench/scalebench/test/servers/cassandratest"
	"github.com/scalebench/scalebench/test/skip"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, rawURL string) *cassandra.Store {
	t.Helper()
	s, err := cassandra.New(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	skip.UnlessLong(t) // test/measured loads and measures a real node
	parts.Begin(t)
	server := cassandratest.StartWithPassword(t)
	t.Run("says who is denied", func(t *testing.T) { testDenied(t, server) })
	t.Run("leaves alone the tables of others", func(t *testing.T) { testOthers(t, server) })
	t.Run("names that nothing was loaded", func(t *testing.T) { testNotLoaded(t, server) })
	t.Run("carries the load of workloads", func(t *testing.T) { testLoad(t, server) })
	t.Run("finds the cluster", func(t *testing.T) { testSeveral(t, server) })
	keyspaces := 0
	kvtest.Run(t, kvtest.Subject{
		Open: func(t *testing.T) kv.Store {
			keyspaces++ // each test has one of its own
			return open(t, fmt.Sprintf("%s/scalebench_test%d", url(server), keyspaces))
		},
		Upserts: true, BlindUpdates: true,
		Stall: func(*testing.T, kv.Store) func() { return server.Stall() },
		Stop:  func(*testing.T, kv.Store) { server.Stop() },
	})
}

// url lets in who uses it.
func url(server *cassandratest.Server) string {
	return "cassandra://" + cassandratest.User + ":" + cassandratest.Password + "@" + server.Addr
}

// query executes a statement beside the package under test.
func query(t *testing.T, server *cassandratest.Server, statements ...string) {
	t.Helper()
	host, port, _ := strings.Cut(server.Addr, ":")
	config := gocql.NewCluster(host)
	if _, err := fmt.Sscan(port, &config.Port); err != nil {
		t.Fatal(err)
	}
	config.Logger = gocql.NewLogger(gocql.LogLevelNone)
	config.Authenticator = gocql.PasswordAuthenticator{Username: cassandratest.User, Password: cassandratest.Password}
	s, err := config.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, statement := range statements {
		if err := s.Query(statement).ExecContext(t.Context()); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// testOthers: a table that happens to have our name, and a keyspace that has
// not, are left alone.
func testOthers(t *testing.T, server *cassandratest.Server) {
	query(t, server,
		"CREATE KEYSPACE others WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
		"CREATE TABLE others.scalebench_kv (precious int PRIMARY KEY)")
	store := open(t, url(server)+"/others")
	if _, err := kv.Load(t.Context(), store, kv.DefaultDataset(), 0); !errors.Is(err, model.ErrUsage) {
		t.Errorf("Load = %v, want ErrUsage", err)
	}
	if err := kvtest.Drop(t.Context(), store); !errors.Is(err, model.ErrUsage) {
		t.Errorf("Drop = %v, want ErrUsage", err)
	}
	query(t, server, "DROP TABLE others.scalebench_kv",
		"CREATE TABLE others.scalebench_kv_state (precious int PRIMARY KEY)")
	if _, err := kv.Load(t.Context(), store, kv.DefaultDataset(), 0); !errors.Is(err, model.ErrUsage) {
		t.Errorf("a state of theirs: Load = %v, want ErrUsage", err)
	}
	query(t, server, "DROP TABLE others.scalebench_kv_state", "CREATE TABLE others.more (precious int PRIMARY KEY)")
	if _, err := kv.Load(t.Context(), store, kv.DefaultDataset(), 0); err != nil {
		t.Errorf("Load into the user's own keyspace: %v", err)
	}
	if err := kvtest.Drop(t.Context(), store); err != nil {
		t.Errorf("Drop: %v", err)
	}
	query(t, server, "DROP TABLE others.more") // it is there
	query(t, server,
		"CREATE KEYSPACE scalebench_theirs WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
		"CREATE TABLE scalebench_theirs.more (precious int PRIMARY KEY)")
	testKeyspace(t, server, "scalebench_theirs", "DROP TABLE scalebench_theirs.more")
	testKeyspace(t, server, "scalebench_both", "CREATE TABLE scalebench_both.more (precious int PRIMARY KEY)",
		"DROP TABLE scalebench_both.more")
	missing := open(t, url(server)+"/nobody_made_it")
	if _, err := kv.Load(t.Context(), missing, kv.DefaultDataset(), 0); !errors.Is(err, model.ErrUsage) {
		t.Errorf("Load into a keyspace that is not there = %v, want ErrUsage", err)
	}
}

// testKeyspace: a keyspace whose name begins as ours do stays while anything of others is
// in it. then must work after records were loaded; all but the last of it is done before they
// are dropped.
func testKeyspace(t *testing.T, server *cassandratest.Server, keyspace string, then ...string) {
	t.Helper()
	store := open(t, url(server)+"/"+keyspace)
	if _, err := kv.Load(t.Context(), store, kv.DefaultDataset(), 0); err != nil {
		t.Errorf("%s: Load: %v", keyspace, err)
	}
	query(t, server, then[:len(then)-1]...)
	if err := kvtest.Drop(t.Context(), store); err != nil {
		t.Errorf("%s: Drop: %v", keyspace, err)
	}
	query(t, server, then[len(then)-1])
}

func testNotLoaded(t *testing.T, server *cassandratest.Server) {
	store := open(t, url(server))
	_, err := store.Connect(t.Context(), kv.DefaultDataset().Shape)
	if load.KindOf(err) != load.ErrConnect || !strings.Contains(err.Error(), "no records were loaded") {
		t.Errorf("Connect = %v, want that no records were loaded", err)
	}
}

// testSeveral: with several hosts in the URL operations go where the record is,
// as the cluster says; here they are one.
func testSeveral(t *testing.T, server *cassandratest.Server) {
	store := open(t, strings.Replace(url(server), "@", "@127.0.0.1,", 1))
	set := kv.Dataset{Records: 50, Shape: kv.Shape{Fields: 2, FieldSize: 16}}
	if _, err := kv.Load(t.Context(), store, set, 0); err != nil {
		t.Fatal(err)
	}
	s, err := store.Connect(t.Context(), set.Shape)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }() // all was read
	for i := range set.Records {
		into := make(kv.Record, set.Fields)
		if err := s.Read(t.Context(), set.Key(i), into); err != nil || set.Verify(i, into) != nil {
			t.Fatalf("record %d: %q, %v", i, into, err)
		}
	}
	if err := kvtest.Drop(t.Context(), store); err != nil {
		t.Error(err)
	}
}

// testLoad drives the three workloads of the paper's Table I through the load
// engine, briefly: all operations succeed, and all are accounted for.
func testLoad(t *testing.T, server *cassandratest.Server) {
	store := open(t, url(server)+"?consistency=one")
	set := kv.DefaultDataset()
	if _, err := kv.Load(t.Context(), store, set, 0); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := kvtest.Drop(context.WithoutCancel(t.Context()), store); err != nil {
			t.Error(err)
		}
	}()
	for _, name := range []string{"w1", "w2", "w3"} {
		t.Run(name, func(t *testing.T) { drive(t, store, set, name) })
	}
}

func drive(t *testing.T, store kv.Store, set kv.Dataset, name string) {
	w, err := kv.Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	target, err := kv.NewTarget(store, kv.Config{Dataset: set, Workload: w, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := load.NewPool(target, load.PoolConfig{Clients: 16, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	}()
	var total load.Counts
	plan := load.Plan{Arrivals: load.Poisson, Seed: 1, Stages: []load.Stage{load.Hold(200, 2*time.Second)}}
	_, err = pool.Run(t.Context(), load.Run{
		Plan: plan, Share: load.All, Drain: 10 * time.Second,
		Each: func(s load.Second) { total.Add(s.Total()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if total.OK != total.Due || total.Due < 300 {
		t.Errorf("%+v, want about 400 due and all OK", total)
	}
}

// testDenied: a wrong password is named as the reason, and not shown.
func testDenied(t *testing.T, server *cassandratest.Server) {
	for _, user := range []string{"cassandra:wr0ng%2Fword@", ""} {
		kvtest.CheckDenied(t, open(t, "cassandra://"+user+server.Addr), "wr0ng")
	}
}

func TestNew(t *testing.T) {
	kvtest.CheckURLs(t, cassandra.New, map[string]string{
		"cassandra://me:pw1234@db.example:9043/bench":                "cassandra://me@db.example:9043/bench",
		"cassandra://me:pw1234@a.example,b.example:9043":             "cassandra://me@a.example,b.example:9043",
		"cassandras://me:pw1234@db.example":                          "cassandras://me@db.example",
		"cassandra://db.example?consistency=local_one&replication=3": "cassandra://db.example",
		"cassandra://[::1]:9043/bench":                               "cassandra://[::1]:9043/bench",
	}, map[string]string{
		"scheme":      "http://me:pw1234@db.example",
		"no URL":      "cassandra://me:pw1234@db.example:port",
		"no host":     "cassandra://me:pw1234@/bench",
		"empty host":  "cassandra://me:pw1234@a.example,,b.example/bench",
		"port":        "cassandra://me:pw1234@db.example:99999/bench",
		"keyspace":    "cassandra://me:pw1234@db.example/Robert';DROP",
		"consistency": "cassandra://me:pw1234@db.example/?consistency=some",
		"replication": "cassandra://me:pw1234@db.example/?replication=0",
		"parameter":   "cassandra://me:pw1234@db.example/?password=pw1234",
	})
}

// TestConnectTimeout: a server that accepts and says nothing costs no more than
// the time that there is.
func TestConnectTimeout(t *testing.T) {
	silent := listen(t)
	store := open(t, "cassandra://"+silent)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err := store.Connect(ctx, kv.DefaultDataset().Shape)
	if took := time.Since(begin); load.KindOf(err) != load.ErrConnect || took > 5*time.Second {
		t.Errorf("Connect = %v after %v, want one of kind connect after 100ms", err, took)
	}
}

// listen accepts connections, in the kernel, and never says anything.
func listen(t *testing.T) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // unused
	return l.Addr().String()
}

// BenchmarkCassandra is what a client costs before it does anything, and what one
// operation costs; most of the latter is the server's.
func BenchmarkCassandra(b *testing.B) {
	server := cassandratest.Start(b)
	store, err := cassandra.New("cassandra://" + server.Addr)
	if err != nil {
		b.Fatal(err)
	}
	set := kv.DefaultDataset()
	if _, err := kv.Load(b.Context(), store, set, 0); err != nil {
		b.Fatal(err)
	}
	b.Run("connect", func(b *testing.B) {
		for b.Loop() {
			s, err := store.Connect(b.Context(), set.Shape)
			if err != nil {
				b.Fatal(err)
			}
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	s, err := store.Connect(b.Context(), set.Shape)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	}()
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		into := set.Record(0)
		for b.Loop() {
			if err := s.Read(b.Context(), set.Key(0), into); err != nil {
				b.Fatal(err)
			}
		}
	})
}
