package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/board"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/record"
)

// boardOptions are the flags of "board".
type boardOptions struct {
	board.Config

	role, balance string
	upstreams     string
	work          []string
}

func (c *common) boardCommand() *cobra.Command {
	var opt boardOptions
	cmd := newCommand("board", "the built-in application: a bulletin board whose demands are known",
		`Serves a bulletin board with 24 interactions over MariaDB, MySQL or PostgreSQL, to
find out where an n-tier application binds (docs/ntier.md). It is measured, not
measuring: threads, connections and processor time of each interaction are set.

Roles: app makes the pages; web has worker threads, too, and forwards to --upstream;
router only forwards, to the upstream with the fewest requests; all is web and app
in one process.

--work sets how much processor time an interaction takes in each tier, beside what
its page costs: TIER=TIME or TIER:INTERACTION=TIME, of the tiers web, app, router and
db. A process does what is its role's part, so that all can be told the same. The
thread's own processor time is counted: waiting and quotas do not shorten the work.
The database computes so many units, by what "board calibrate" has measured of them;
with --meter-db, where it runs on this machine, its threads' own time counts, too.

It serves HTTP without encryption and has no protection against misuse: use it on
networks of your own. `+board.StatusPath+` tells counters as JSON, `+board.HealthPath+` whether
it is well. SIGTERM ends it after the requests that have begun.`,
		`  scalebench board load --db mysql://bench:pw@10.0.0.5/board
  scalebench board calibrate --db mysql://bench:pw@10.0.0.5/board --save
  scalebench board --role app --listen :8080 --db mysql://bench:pw@10.0.0.5/board --work web=1ms,app=5ms,db=3ms
  scalebench board --role web --listen :80 --upstream 10.0.0.3:8080,10.0.0.4:8080 --work web=1ms,app=5ms,db=3ms`,
		func(ctx context.Context, _ []string) error { return c.serveBoard(ctx, opt) })
	f := cmd.Flags()
	f.StringVar(&opt.role, "role", string(board.All), "web, app, router or all")
	f.StringVar(&opt.Listen, "listen", "127.0.0.1:8080", "address to serve at, HOST:PORT")
	f.StringArrayVar(&opt.DB, "db", nil, "database, mysql://… or postgres://…; several hosts with commas share the requests (may be repeated)")
	f.StringArrayVar(&opt.ReadDB, "read-db", nil, "replicas: they are read, --db is written (may be repeated)")
	f.StringVar(&opt.upstreams, "upstream", "", "where to forward, HOST:PORT,… (roles web and router)")
	f.StringVar(&opt.balance, "balance", "", "among upstreams: least (fewest requests; default of router) or turns (default of web)")
	f.StringArrayVar(&opt.work, "work", nil, "processor time of interactions: app=5ms,app:ViewStory=8ms,… (may be repeated)")
	f.DurationVar(&opt.DBUnit, "db-unit", 0, `what a unit of the database's work costs (default: what "board calibrate --save" stored)`)
	f.BoolVar(&opt.MeterDB, "meter-db", false, "the database works until its own thread has used the time; it must run on this machine")
	f.DurationVar(&opt.DBWait, "db-wait", 0, "how long each interaction keeps its connection beside its work, without processor time")
	f.IntVar(&opt.Threads, "threads", 200, "worker threads, 0: no limit (default of router); more requests wait for one")
	f.IntVar(&opt.Pool, "pool", 50, "connections to each database; requests wait for one")
	f.IntVar(&opt.Backlog, "accept", 0, "connections that may wait to be accepted (default: what the system allows)")
	f.IntVar(&opt.Connections, "connections", 0, "open connections; more wait to be accepted (default: no limit)")
	cmd.AddCommand(c.boardLoadCommand(), c.boardCheckCommand(), c.boardCalibrateCommand())
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if opt.role == string(board.Router) && !f.Changed("threads") {
			opt.Threads = 0
		}
		return opt.complete()
	}
	return cmd
}

// balances are how upstreams are chosen.
var balances = []string{"least", "turns"}

// complete turns flags into the configuration.
func (o *boardOptions) complete() error {
	o.Role = board.Role(o.role)
	if o.balance == "" {
		o.balance = "turns"
		if o.Role == board.Router {
			o.balance = "least"
		}
	}
	if err := oneOf("--balance", o.balance, balances); err != nil {
		return err
	}
	o.RoundRobin = o.balance == "turns"
	if o.upstreams != "" {
		o.Upstreams = strings.Split(o.upstreams, ",")
	}
	var err error
	o.Work, err = board.ParseWork(o.work)
	return err
}

func (c *common) serveBoard(ctx context.Context, opt boardOptions) error {
	board.Calm()
	s, err := board.New(ctx, opt.Config)
	if err != nil {
		return err
	}
	if n := s.Backlog(); opt.Backlog > n && n > 0 {
		c.say("warning: the system lets %d connections wait to be accepted, not %d: raise net.core.somaxconn", n, opt.Backlog)
	}
	c.say("board, role %s, at http://%s", opt.Role, s.Address())
	return s.Serve(ctx)
}

func (c *common) boardLoadCommand() *cobra.Command {
	l := board.Loading{Sizes: board.DefaultSizes()}
	parts := ""
	cmd := newCommand("load", "make the board's tables and fill them",
		`Makes the board's tables in a database and fills them: the same seed and sizes give
the same rows in every database. Users are user1, user2, … with passwords password1,
password2, …; the first of them are authors.

With --partition-servers the databases of --db are SQL nodes of MariaDB with Spider,
and the rows are on these data nodes: MariaDB servers with the same user, password and
database.`,
		`  scalebench board load --db mysql://bench:pw@10.0.0.5/board --users 500000
  scalebench board load --db postgres://bench:pw@10.0.0.5/board --replace
  scalebench board load --db mysql://bench:pw@10.0.0.5/board --partition-servers 10.0.0.6,10.0.0.7`,
		func(ctx context.Context, _ []string) error {
			if parts != "" {
				l.DataNodes = strings.Split(parts, ",")
			}
			l.Progress = c.loadProgress()
			if err := board.Load(ctx, l); err != nil {
				return err
			}
			return c.out("loaded")
		})
	f := cmd.Flags()
	addBoardDB(cmd, &l.DB)
	s := &l.Sizes
	f.Uint64Var(&s.Seed, "seed", s.Seed, "from which all rows are drawn")
	for _, size := range []struct {
		value       *int
		name, usage string
	}{
		{&s.Users, "users", "registered users"},
		{&s.Authors, "authors", "how many of the users are authors"},
		{&s.Categories, "categories", "categories of stories"},
		{&s.Stories, "stories", "current stories"},
		{&s.OldStories, "old-stories", "older stories"},
		{&s.Submissions, "submissions", "stories that wait for a review"},
		{&s.Comments, "comments", "comments of a story, in the mean"},
		{&s.StorySize, "story-size", "bytes of a story, in the mean"},
		{&s.CommentSize, "comment-size", "bytes of a comment, in the mean"},
	} {
		f.IntVar(size.value, size.name, *size.value, size.usage)
	}
	f.StringVar(&parts, "partition-servers", "", "data nodes over which the tables are partitioned, HOST:PORT,…")
	f.BoolVar(&l.Replace, "replace", false, "drop a board that is there")
	return cmd
}

// addBoardDB adds the flag that names databases.
func addBoardDB(cmd *cobra.Command, urls *[]string) {
	cmd.Flags().StringArrayVar(urls, "db", nil, "database, mysql://… or postgres://…; several hosts with commas (may be repeated)")
}

// loadProgress prints a line every two seconds, and one for each table that
// took longer.
func (c *common) loadProgress() func(table string, done, total int) {
	last := time.Now()
	return func(table string, done, total int) {
		if time.Since(last) >= 2*time.Second {
			last = time.Now()
			c.say("%s: %d of %d rows", table, done, total)
		}
	}
}

func (c *common) boardCheckCommand() *cobra.Command {
	var urls []string
	cmd := newCommand("check", "say whether databases are as they were loaded",
		`Compares databases with what they were filled with: numbers of rows, sums of columns,
lengths of texts, and some rows letter by letter. What users have written since is a
difference, too. The exit code is 1 if there is any.`,
		"  scalebench board check --db mysql://bench:pw@10.0.0.5,10.0.0.6/board",
		func(ctx context.Context, _ []string) error {
			sizes, differences, err := board.Check(ctx, urls)
			if err != nil {
				return err
			}
			return c.printCheck(sizes, differences)
		})
	addBoardDB(cmd, &urls)
	c.addFormat(cmd)
	return cmd
}

// boardCheck is what "board check" says.
type boardCheck struct {
	Loaded      board.Sizes        `json:"loaded"`
	Differences []board.Difference `json:"differences"`
}

func (c *common) printCheck(sizes board.Sizes, differences []board.Difference) error {
	t := &doc.Table{Columns: []doc.Column{{Key: "database", Head: "database"}, {Key: "table", Head: "table"}, {Key: "difference", Head: "difference"}}}
	for _, d := range differences {
		t.Add(doc.Say(d.Database), doc.Say(d.Table), doc.Say(d.What))
	}
	if err := c.print(record.Listing(t, "As it was loaded."),
		boardCheck{sizes, append([]board.Difference{}, differences...)}); err != nil || len(differences) == 0 {
		return err
	}
	return fmt.Errorf("%s; `scalebench board load --replace` fills it anew", num.Count(len(differences), "difference"))
}

func (c *common) boardCalibrateCommand() *cobra.Command {
	url, save := "", false
	cmd := newCommand("calibrate", "measure what a unit of the database's work costs",
		`Measures what a unit of the database's work costs, in processor time of the
database's thread where that runs on this machine, so that load and quotas do not
matter; otherwise in elapsed time, which is right only if the database has a
processor to itself. With --save the database keeps it, for "scalebench board".`,
		"  scalebench board calibrate --db mysql://bench:pw@127.0.0.1/board --save",
		func(ctx context.Context, _ []string) error {
			cal, err := board.Calibrate(ctx, url, save)
			if err != nil {
				return err
			}
			return c.printCalibration(cal)
		})
	cmd.Flags().StringVar(&url, "db", "", "database, mysql://… or postgres://…")
	cmd.Flags().BoolVar(&save, "save", false, "store it in the database")
	c.addFormat(cmd)
	return cmd
}

func (c *common) printCalibration(cal board.Calibration) error {
	by := "processor time of " + cal.Process
	d := &doc.Document{}
	if cal.Process == "" {
		by = "elapsed time"
		d.Warnings = append(d.Warnings, doc.Warning{Text: "The database's processor time is not known here: this holds only if nothing else ran there, and no quota held it back."})
	}
	if cal.High > 1.1*cal.Low {
		d.Warnings = append(d.Warnings, doc.Warning{Text: "Units did not cost the same in all rounds, as where other programs share the cores: the database's demand is as uncertain as that."})
	}
	t := &doc.Table{Columns: []doc.Column{{Key: "unit", Head: "a unit costs", Right: true}, {Key: "low", Head: "from", Right: true},
		{Key: "high", Head: "to", Right: true}, {Key: "statement", Head: "a statement", Right: true}, {Key: "measured", Head: "measured as"}}}
	span := func(s float64) doc.Cell { return doc.Of(s, num.Seconds(s)) }
	t.Add(span(cal.Unit), span(cal.Low), span(cal.High), span(cal.Statement), doc.Say(by))
	d.Sections = []doc.Section{{Blocks: []doc.Block{{Table: t}}}}
	return c.print(d, cal)
}
