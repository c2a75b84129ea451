package sqlkv_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"
	"go.uber.org/goleak"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/kv"
	"github.com/scalebench/scalebench/internal/load/sqlkv"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/kvtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const password = "s3cret-word"

func openMySQL(t *testing.T, rawURL string) *sqlkv.Store {
	t.Helper()
	s, err := sqlkv.NewMySQL(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestMySQLStore is all that needs a server, for starting one takes a while.
func TestMySQLStore(t *testing.T) {
	const databases, connections = 32, 24
	server := kvtest.StartMariaDB(t, databases, password, fmt.Sprintf("--max-connections=%d", connections),
		"--performance-schema=ON")
	next := 0
	database := func() string {
		if next++; next > databases {
			t.Fatal("too few databases")
		}
		return fmt.Sprintf("%s/test%d", server.Addr, next-1)
	}
	t.Run("other's table", func(t *testing.T) { testMySQLOthersTable(t, database()) })
	t.Run("not loaded", func(t *testing.T) { testMySQLNotLoaded(t, database()) })
	t.Run("full", func(t *testing.T) {
		kvtest.CheckFull(t, openMySQL(t, "mysql://bench:"+password+"@"+database()), connections, 0)
	})
	t.Run("same user", func(t *testing.T) { testMySQLSameUser(t, database()) })
	t.Run("denied", func(t *testing.T) { testMySQLDenied(t, database()) })
	t.Run("no right to lock", func(t *testing.T) { testMySQLNoLock(t, database(), filepath.Join(server.Dir, "socket")) })
	t.Run("unknown database", func(t *testing.T) { testMySQLUnknownDatabase(t, server.Addr) })
	kvtest.Run(t, kvtest.Subject{
		Open:  func(t *testing.T) kv.Store { return openMySQL(t, "mysql://bench:"+password+"@"+database()) },
		Stall: func(*testing.T, kv.Store) func() { return server.Stall() },
		Stop:  func(*testing.T, kv.Store) { server.Stop() },
	})
}

// otherProgram is one that uses a database as the same user.
func otherProgram(t *testing.T, database string) *sql.DB {
	t.Helper()
	config := driver.NewConfig()
	config.User, config.Passwd, config.Net = "bench", password, "tcp"
	config.Addr, config.DBName, _ = strings.Cut(database, "/")
	connector, err := driver.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// testMySQLSameUser: the connections of another program count as those of others,
// whoever they belong to, and those of other generators do not.
func testMySQLSameUser(t *testing.T, database string) {
	store, db := openMySQL(t, "mysql://bench:"+password+"@"+database), otherProgram(t, database)
	set := kv.Dataset{Records: 1, Shape: kv.Shape{Fields: 1, FieldSize: 16}}
	if _, err := kv.Load(t.Context(), store, set, 0); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		c, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	for range 2 {
		c, err := store.Connect(t.Context(), set.Shape)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	if r := kvtest.Room(t, store, 5); r.Others != 5 || r.SameUser != 0 {
		t.Errorf("beside five connections of another program and two of ours: %+v", r)
	}
}

// testMySQLOthersTable: what happens to have one of our names is left alone.
func testMySQLOthersTable(t *testing.T, database string) {
	db := otherProgram(t, database)
	store := openMySQL(t, "mysql://bench:"+password+"@"+database)
	execute := func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	testOthers(t, store, execute)
	testTableGone(t, store, execute)
}

// testMySQLNotLoaded: the reason is named.
func testMySQLNotLoaded(t *testing.T, database string) {
	store := openMySQL(t, "mysql://bench:"+password+"@"+database)
	_, err := store.Connect(t.Context(), kv.DefaultDataset().Shape)
	if load.KindOf(err) != load.ErrConnect || !strings.Contains(err.Error(), "no records were loaded") {
		t.Errorf("Connect = %v, want that no records were loaded", err)
	}
}

// testMySQLDenied: a wrong password is named as the reason, and not shown.
func testMySQLDenied(t *testing.T, database string) {
	kvtest.CheckDenied(t, openMySQL(t, "mysql://bench:wr0ng%2Fword@"+database), "wr0ng")
}

// testMySQLNoLock: the right that replacing records needs is named, and the records stay.
func testMySQLNoLock(t *testing.T, database, socket string) {
	config := driver.NewConfig()
	config.User, config.Net, config.Addr = "root", "unix", socket
	connector, err := driver.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	root := sql.OpenDB(connector)
	defer func() { _ = root.Close() }()
	_, name, _ := strings.Cut(database, "/")
	for _, statement := range []string{
		"CREATE USER few@'%' IDENTIFIED BY 'few'",
		"GRANT CREATE, DROP, SELECT, INSERT, UPDATE, DELETE ON " + name + ".* TO few@'%'",
	} {
		if _, err := root.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	store := openMySQL(t, "mysql://few:few@"+database)
	set := kv.Dataset{Records: 10, Shape: kv.Shape{Fields: 1, FieldSize: 16}}
	if _, err := kv.Load(t.Context(), store, set, 0); err != nil {
		t.Fatal(err)
	}
	_, err = kv.Load(t.Context(), store, kv.Dataset{Records: 20, Shape: set.Shape}, 0)
	if !errors.Is(err, model.ErrDenied) || !strings.Contains(err.Error(), "by LOCK TABLES scalebench_kv WRITE") {
		t.Errorf("other records: Load = %v, want ErrDenied and the statement", err)
	}
	if there, err := kv.Loaded(t.Context(), store, set, 0); err != nil || !there {
		t.Errorf("the records are gone: %v", err)
	}
}

func testMySQLUnknownDatabase(t *testing.T, addr string) {
	store := openMySQL(t, "mysql://bench:"+password+"@"+addr+"/nothere")
	_, err := kv.Load(t.Context(), store, kv.DefaultDataset(), 0)
	if !errors.Is(err, model.ErrUsage) && !errors.Is(err, model.ErrDenied) {
		t.Errorf("Load = %v, want ErrUsage or ErrDenied", err)
	}
}

func TestMySQLNew(t *testing.T) {
	kvtest.CheckURLs(t, sqlkv.NewMySQL, map[string]string{
		"mysql://me:pw1234@db.example:3307/bench":     "mysql://me@db.example:3307/bench",
		"mysql://me:pw1234@db.example/bench?tls=true": "mysql://me@db.example/bench",
		"mysql://me:pw1234@/bench?socket=/run/s":      "mysql://me@/bench?socket=%2Frun%2Fs",
	}, map[string]string{
		"scheme":    "postgres://me:pw1234@db.example/bench",
		"no URL":    "mysql://me:pw1234@db.example:port/bench",
		"database":  "mysql://me:pw1234@db.example",
		"tls":       "mysql://me:pw1234@db.example/bench?tls=pw1234",
		"parameter": "mysql://me:pw1234@db.example/bench?multiStatements=true",
		"a DSN":     "me:pw1234@tcp(db.example)/bench",
	})
}

func BenchmarkMySQL(b *testing.B) {
	server := kvtest.StartMariaDB(b, 1, password)
	store, err := sqlkv.NewMySQL("mysql://bench:" + password + "@" + server.Addr + "/test0")
	if err != nil {
		b.Fatal(err)
	}
	kvtest.Benchmark(b, store)
}
