package board_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/board"
	"github.com/scalebench/scalebench/internal/load/sqlkv"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/kvtest"
	"github.com/scalebench/scalebench/test/proof/parts"
	"github.com/scalebench/scalebench/test/servers"
)

// execute executes statements.
func execute(t *testing.T, url string, statements ...string) {
	t.Helper()
	store, err := sqlkv.New(url)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(store.Connector())
	defer func() { _ = db.Close() }() // the statements count
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// check: what differs from what was loaded is found, to the letter.
func check(t *testing.T, p postgres) {
	server := base{url: p.Database()}
	server.load(t)
	checkDifferences(t, server.url, 0)
	for name, c := range map[string]struct{ change, back, says string }{
		"a row less": {"DELETE FROM users WHERE id = 300", "", "rows: 300, loaded were 301"},
		"a number":   {"UPDATE comments SET rating = rating + 1 WHERE story_id = 140 AND id = 1", "", "sum of rating"},
		"letters in their turn": {"UPDATE stories SET body = reverse(body) WHERE id = 101", "UPDATE stories SET body = reverse(body) WHERE id = 101",
			"the row [101] is not as it was loaded"},
	} {
		t.Run(name, func(t *testing.T) {
			execute(t, server.url, c.change)
			_, found, err := board.Check(t.Context(), []string{server.url})
			if err != nil || !strings.Contains(fmt.Sprint(found), c.says) {
				t.Errorf("Check = %v, %v, want %q", found, err, c.says)
			}
			if c.back != "" {
				execute(t, server.url, c.back)
			}
		})
	}
}

// loadRefuses: nothing is dropped that was not said to be, and no board is
// served that is not whole.
func loadRefuses(t *testing.T, server postgres) {
	foreign := server.Database()
	execute(t, foreign, "CREATE TABLE users (id int)")
	data := server.Database()
	execute(t, data, "CREATE TABLE board_data (precious int)")
	cut := server.Database()
	ctx, cancel := context.WithCancel(t.Context())
	l := board.Loading{DB: []string{cut}, Sizes: small(), Progress: func(table string, _, _ int) {
		if table == "stories" {
			cancel()
		}
	}}
	if err := board.Load(ctx, l); !errors.Is(err, context.Canceled) {
		t.Fatalf("Load, cut off: %v", err)
	}
	load := func(url string, sizes board.Sizes) error {
		return board.Load(t.Context(), board.Loading{DB: []string{url}, Sizes: sizes})
	}
	many := small()
	many.Authors = 400
	for name, c := range map[string]struct {
		err  error
		says string
	}{
		"a board":      {load(server.url, small()), "holds a board already"},
		"other tables": {load(foreign, small()), "has a table users that is not the board's"},
		"board_data": {board.Load(t.Context(), board.Loading{DB: []string{data}, Sizes: small(), Replace: true}),
			"the table board_data exists and is not marked"},
		"sizes":          {load(foreign, many), "authors are users"},
		"no board":       {calibrate(t, foreign), "holds no board"},
		"half a board":   {calibrate(t, cut), "was not loaded to its end"},
		"not calibrated": {uncalibrated(t, server.url), "board calibrate"},
	} {
		if !errors.Is(c.err, model.ErrUsage) || !strings.Contains(c.err.Error(), c.says) {
			t.Errorf("%s: %v, want that it says %q", name, c.err, c.says)
		}
	}
	if err := board.Load(t.Context(), board.Loading{DB: []string{cut}, Sizes: small(), Replace: true}); err != nil {
		t.Error(err)
	}
	checkDifferences(t, cut, 0)
}

func calibrate(t *testing.T, url string) error {
	_, err := board.Calibrate(t.Context(), url, true)
	return err
}

func uncalibrated(t *testing.T, url string) error {
	_, err := board.New(t.Context(), board.Config{Role: board.All, DB: []string{url}, Pool: 1, Work: board.Work{"db": 1}})
	return err
}

// TestPartitioned: tables that Spider spreads over two data nodes are one board:
// all rows are there, each on one of the nodes, and all pages work.
func TestPartitioned(t *testing.T) {
	parts.Begin(t)
	if os.Getenv("NTIER_PROOF") == "" {
		t.Skip("it starts three servers; make ntier-proof runs it")
	}
	if _, err := os.Stat("/usr/lib/mysql/plugin/ha_spider.so"); err != nil {
		servers.Missing(t, err)
	}
	var data []string
	for range 2 {
		data = append(data, kvtest.StartMariaDB(t, 1, "secret").Addr)
	}
	sqlNode := kvtest.StartMariaDB(t, 1, "secret", "--plugin-load-add=ha_spider", "--plugin-maturity=gamma")
	execute(t, "mysql://root@"+sqlNode.Addr+"/test0", "GRANT FEDERATED ADMIN ON *.* TO bench@'%'")
	url := "mysql://bench:secret@" + sqlNode.Addr + "/test0"
	l := board.Loading{DB: []string{url}, DataNodes: data, Sizes: small()}
	if err := board.Load(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	checkDifferences(t, url, 0)
	for _, table := range []string{"users", "stories", "comments"} {
		for _, node := range data {
			if n := count(t, "mysql://bench:secret@"+node+"/test0", table); n < 10 {
				t.Errorf("%s: %d rows on a data node", table, n)
			}
		}
	}
	s := start(t, board.Config{Role: board.All, DB: []string{url}, Pool: 8})
	u := newUser(t, s.Address())
	crawl(t, u)
	writes(t, u)
	acceptOnce(t, u)
	repliesAtOnce(t, u)
}

func count(t *testing.T, url, table string) (n int) {
	t.Helper()
	store, err := sqlkv.New(url)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(store.Connector())
	defer func() { _ = db.Close() }() // it was only read
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestWord: all words differ.
func TestWord(t *testing.T) {
	seen := map[string]bool{}
	sum := fnv.New64a()
	for i := range 1000 {
		w := board.Word(i)
		if len(w) != 6 || seen[w] {
			t.Errorf("Word(%d) = %q, which is not six letters, or not new", i, w)
		}
		seen[w] = true
		_, _ = sum.Write([]byte(w)) // a hash takes all
	}
	if got := fmt.Sprintf("%x", sum.Sum64()); got != "de4c4f6718075cbd" {
		t.Errorf("the words have changed (%s): databases that older versions filled are no longer as they were loaded", got)
	}
}

// TestGalera: two servers that replicate to each other look like one to users who
// are sent to either, and are the same afterwards.
func TestGalera(t *testing.T) {
	parts.Begin(t)
	const provider = "/usr/lib/galera/libgalera_smm.so"
	if os.Getenv("NTIER_PROOF") == "" {
		t.Skip("it starts two servers; make ntier-proof runs it")
	}
	if _, err := os.Stat(provider); err != nil {
		servers.Missing(t, err)
	}
	servers.Program(t, "rsync") // copies what the first has to the second
	group := []string{servers.FreeAddress(t), servers.FreeAddress(t)}
	var nodes []string
	for i, address := range group {
		_, port, _ := strings.Cut(address, ":")
		options := []string{"--binlog-format=ROW", "--innodb-autoinc-lock-mode=2", "--wsrep-on=ON", "--wsrep-provider=" + provider,
			"--wsrep-cluster-address=gcomm://" + strings.Join(group, ","), "--wsrep-node-address=127.0.0.1", "--wsrep-sst-method=rsync",
			"--wsrep-sst-receive-address=" + servers.FreeAddress(t), "--wsrep-node-name=" + fmt.Sprint("node", i),
			"--wsrep-provider-options=base_port=" + port + ";gmcast.listen_addr=tcp://" + address + ";ist.recv_addr=" +
				servers.FreeAddress(t)}
		if i == 0 {
			options = append(options, "--wsrep-new-cluster")
		}
		nodes = append(nodes, kvtest.StartMariaDB(t, 1, "secret", options...).Addr)
	}
	url := func(host string) string { return "mysql://bench:secret@" + host + "/test0" }
	base{url: url(nodes[0])}.load(t)
	both := url(strings.Join(nodes, ","))
	checkDifferences(t, both, 0)
	s := start(t, board.Config{Role: board.All, DB: []string{both}, Pool: 4})
	u := newUser(t, s.Address())
	crawl(t, u)
	acceptOnce(t, u)
	repliesAtOnce(t, u)
	for _, table := range []string{"users", "stories", "comments", "submissions"} {
		if a, b := count(t, url(nodes[0]), table), count(t, url(nodes[1]), table); a != b {
			t.Errorf("%s: %d rows on the first server, %d on the second", table, a, b)
		}
	}
	pools := s.Status().Pools
	t.Logf("transactions done again: %d; pools: %+v", s.Status().Retries, pools)
}
