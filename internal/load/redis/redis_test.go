package redis_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	redigo "github.com/gomodule/redigo/redis"

	"github.com/scalebench/scalebench/internal/load/kv"
	"github.com/scalebench/scalebench/internal/load/redis"
	"github.com/scalebench/scalebench/internal/model"
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
	do := func(command string, args ...any) any {
		t.Helper()
		answer, err := redigo.DoContext(client, t.Context(), command, args...)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	store := open(t, "redis://"+server.Addr)
	set100 := kv.Dataset{Records: 100, Shape: kv.Shape{Fields: 1, FieldSize: 16}}
	others := []string{"user1", "scalebench", "scalebenchmark:user2", "x:scalebench:user3", "scalebench:config",
		"scalebench:userdata", "scalebench:user", "scalebench:user007", "scalebench:user-1", "scalebench:state:more"}
	for _, key := range others {
		do("SET", key, "precious")
	}
	if _, err := kv.Load(t.Context(), store, set100, 0); err != nil {
		t.Fatal(err)
	}
	do("SET", "scalebench:user12", "precious") // a string, where records are hashes
	do("HSET", "scalebench:user900000", "name", "precious")
	if _, err := kv.Load(t.Context(), store, kv.Dataset{Records: 50, Shape: set100.Shape}, 0); err == nil {
		t.Error("records were loaded where another program's key counts as one")
	}
	if err := kvtest.Drop(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	if n := do("DBSIZE"); n != int64(len(others)+2) {
		t.Errorf("%d keys are left, want the %d of others", n, len(others)+2)
	}
	do("FLUSHDB")
	for name, set := range map[string][]any{
		"a text beyond the records": {"SET", "scalebench:" + set100.Key(103), "precious"},
		"a hash beyond the records": {"HSET", "scalebench:" + set100.Key(104), "name", "precious", "field0", "x"},
		"a list far beyond them":    {"RPUSH", "scalebench:" + set100.Key(10_005), "precious"},
		"a set where none inserts":  {"SADD", "scalebench:user900000", "precious"},
	} {
		if _, err := kv.Load(t.Context(), store, set100, 0); err != nil {
			t.Fatal(err)
		}
		do(set[0].(string), set[1:]...)
		_, err := kv.Load(t.Context(), store, set100, 0)
		if !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), set[1].(string)) {
			t.Errorf("%s: Load = %v, want ErrUsage and %s", name, err, set[1])
		}
		if n := do("EXISTS", set[1]); n != int64(1) {
			t.Errorf("%s: it is gone", name)
		}
		do("FLUSHDB")
	}
	for name, set := range map[string][]any{
		"a record of theirs":      {"HSET", "scalebench:user12", "field0", "precious"},
		"a state of theirs":       {"SET", "scalebench:state", "precious"},
		"a state of another type": {"HSET", "scalebench:state", "a", "precious"},
	} {
		do(set[0].(string), set[1:]...)
		if _, err := kv.Load(t.Context(), store, kv.DefaultDataset(), 0); !errors.Is(err, model.ErrUsage) {
			t.Errorf("%s: Load = %v, want ErrUsage", name, err)
		}
		_ = kvtest.Drop(t.Context(), store) // refuses, or has nothing to drop
		if n := do("DBSIZE"); n != int64(1) {
			t.Errorf("%s: %d keys, want 1", name, n)
		}
		do("FLUSHDB")
	}
}

// TestFull: a server that allows few connections says how many.
func TestFull(t *testing.T) {
	server := kvtest.StartRedis(t, "")
	client, err := redigo.Dial("tcp", server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if _, err := client.Do("CONFIG", "SET", "maxclients", 12); err != nil {
		t.Fatal(err)
	}
	store := open(t, "redis://"+server.Addr)
	var beside []kv.Session // of another generator
	for range 3 {
		c, err := store.Connect(t.Context(), kv.DefaultDataset().Shape)
		if err != nil {
			t.Fatal(err)
		}
		beside = append(beside, c)
	}
	if r, err := kv.RoomIn(t.Context(), store, 0); err != nil || r.Others != 1 {
		t.Errorf("beside three connections of other generators: %+v, %v, want one of others", r, err)
	}
	for _, c := range beside {
		_ = c.Close()
	}
	kvtest.CheckFull(t, store, 12, 1)
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
