package redis_test

import (
	"fmt"
	"testing"

	"go.uber.org/goleak"

	redigo "github.com/gomodule/redigo/redis"

	"github.com/scalebench/scalebench/internal/load/kv"
	"github.com/scalebench/scalebench/internal/load/redis"
	"github.com/scalebench/scalebench/test/kvtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, rawURL string) *redis.Store {
	t.Helper()
	s, err := redis.New(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	server := kvtest.StartRedis(t, "")
	database := 0
	kvtest.Run(t, kvtest.Subject{
		Open: func(t *testing.T) kv.Store {
			database++ // each test has one of its own
			return open(t, fmt.Sprintf("redis://%s/%d", server.Addr, database))
		},
		Upserts: true,
		Stall:   func(*testing.T, kv.Store) func() { return server.Stall() },
		Stop:    func(*testing.T, kv.Store) { server.Stop() },
	})
}

// TestOthersKeys: what is not ours is neither counted nor removed, however
// similar it looks.
func TestOthersKeys(t *testing.T) {
	server := kvtest.StartRedis(t, "")
	client, err := redigo.Dial("tcp", server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	for _, key := range []string{"user1", "scalebench", "scalebenchmark:user2", "x:scalebench:user3"} {
		if _, err := redigo.DoContext(client, t.Context(), "SET", key, "precious"); err != nil {
			t.Fatal(err)
		}
	}
	store := open(t, "redis://"+server.Addr)
	set := kv.Dataset{Records: 100, Shape: kv.Shape{Fields: 1, FieldSize: 16}}
	if _, err := kv.Load(t.Context(), store, set, 0); err != nil {
		t.Fatal(err)
	}
	if err := kvtest.Drop(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	if n, err := redigo.Int(redigo.DoContext(client, t.Context(), "DBSIZE")); n != 4 || err != nil {
		t.Errorf("%d keys are left, %v, want the 4 of others", n, err)
	}
}

// TestDenied: a wrong password is named as the reason, and not shown.
func TestDenied(t *testing.T) {
	server := kvtest.StartRedis(t, "s3cret/word")
	right := open(t, "redis://:s3cret%2Fword@"+server.Addr)
	if err := kvtest.Drop(t.Context(), right); err != nil {
		t.Errorf("with the password: %v", err)
	}
	for _, user := range []string{":wr0ng%2Fword@", ""} {
		kvtest.CheckDenied(t, open(t, "redis://"+user+server.Addr), "wr0ng")
	}
}

func TestNew(t *testing.T) {
	kvtest.CheckURLs(t, redis.New, map[string]string{
		"redis://me:pw1234@db.example:6380/3": "redis://me@db.example:6380/3",
		"rediss://:pw1234@db.example":         "rediss://db.example",
		"redis://db.example?read_timeout=3s":  "redis://db.example",
	}, map[string]string{
		"scheme":    "http://:pw1234@db.example",
		"no URL":    "redis://:pw1234@db.example:port",
		"database":  "redis://:pw1234@db.example/x",
		"parameter": "redis://:pw1234@db.example/?password=pw1234&x=pw1234",
	})
}

func BenchmarkStore(b *testing.B) {
	store, err := redis.New("redis://" + kvtest.StartRedis(b, "").Addr)
	if err != nil {
		b.Fatal(err)
	}
	kvtest.Benchmark(b, store)
}
