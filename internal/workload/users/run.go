package users

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/http1"
	"github.com/scalebench/scalebench/internal/load/session"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// longestTable bounds files that are read.
const longestTable = 4 << 20

// readFile reads a file on the node.
func readFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > longestTable {
		return "", fmt.Errorf("%s is no file of at most %d bytes", path, longestTable)
	}
	b, err := os.ReadFile(path)
	return string(b), err
}

// Prepare reads the tables, says what is done with them, and opens the driver.
// The first node then asks for the home page, once: a site that does not answer
// is found now, and not after the ramp.
func (p *Params) Prepare(ctx context.Context, env *workload.Env) (err error) {
	if p.visitors, err = p.config(readFile); err != nil {
		return err
	}
	if p.visitors.Users == 0 {
		return fmt.Errorf("%w: there are no users: set users, or workload_number_of_clients_per_node in properties", model.ErrUsage)
	}
	for _, note := range p.notes {
		_, _ = fmt.Fprintln(env.Stderr, note) // kept with the task
		if env.Part == 0 {                    // the others do the same
			env.Report.Stage(model.StageTables, model.StageDone, note)
		}
	}
	p.visitors.Seed = env.Seed(p.Seed)
	if p.driver, err = p.open(ctx, p.visitors, env); err != nil || env.Part > 0 {
		return err
	}
	return p.answers(ctx)
}

// open makes the driver for a share of the users.
func (p *Params) open(ctx context.Context, c session.Config, env *workload.Env) (load.Driver, error) {
	var mu sync.Mutex
	config := http1.Config{
		Requests: p.kinds(c), Connections: p.Connections, Chosen: true, Own: p.Connections == 0, Loops: p.Loops,
		Timeout: p.Timeout.Std(),
		Sessions: func(share load.Share) load.Sessions {
			mu.Lock()
			defer mu.Unlock()
			u := session.New(c, share)
			p.crowd = append(p.crowd, u)
			return u
		},
	}
	if config.Own {
		config.Connections = max(1, (c.Users-env.Part+env.Parts-1)/env.Parts)
	}
	return http1.New(ctx, config)
}

// kinds are the kinds of requests, for names and expectations.
func (p *Params) kinds(c session.Config) []load.Request {
	var out []load.Request
	for _, i := range c.Site {
		out = append(out, load.Request{Name: i.Name, URL: c.URL.Scheme + "://" + c.URL.Host + i.Path, Header: c.Header, Weight: 1})
	}
	return out
}

// firstWithin is how long the site may take for its home page, at least.
const firstWithin = 10 * time.Second

// answers reports that the site does not answer with its home page, before
// minutes of a ramp are spent on it.
func (p *Params) answers(ctx context.Context) error {
	one := p.visitors
	const at = time.Millisecond // when the only request is due, and the user leaves
	one.Users, one.RampUp, one.From, one.To, one.End = 1, 0, 0, at, at
	one.Think, one.ErrorText, one.AuthorShare = session.Think{Distribution: session.Constant}, "", 0
	probe := Params{Connections: 1, Timeout: p.Timeout, Loops: 1}
	d, err := probe.open(ctx, one, &workload.Env{Parts: 1})
	if err != nil {
		return err
	}
	var counts load.Counts
	usage, err := d.Run(ctx, load.Run{
		Plan:  load.Plan{Closed: &load.Closed{Users: 1, Duration: at}},
		Share: load.All, Drain: min(p.Timeout.Std(), firstWithin),
		Each: func(s load.Second) { counts.Add(s.Total()) },
	})
	if err = errors.Join(err, d.Close()); err != nil || counts.OK > 0 {
		return err
	}
	example := errors.New("no answer came in time")
	if i := slices.IndexFunc(usage.Examples[:], func(err error) bool { return err != nil }); i >= 0 {
		example = usage.Examples[i]
	}
	return fmt.Errorf("%w: the site %s does not answer with its home page: %w; check that it runs and that url is right", model.ErrUnavailable, p.URL, example)
}

// Run lets the users visit, and reports what became of it.
func (p *Params) Run(ctx context.Context, env *workload.Env) error {
	c := p.visitors
	share := load.Share{Index: env.Part, Of: env.Parts}
	watch, start := session.Watch(c, share), time.Now()
	end := stages(env.Report, c, start)
	p.crowd = nil
	replies := int64(0)
	usage, err := p.driver.Run(ctx, load.Run{
		Plan:  load.Plan{Closed: &load.Closed{Users: c.Users, Duration: c.End}, Seed: c.Seed},
		Share: share, Start: start, BusyFrom: c.From, BusyTo: c.To,
		Each: func(s load.Second) {
			watch.Add(s)
			env.Report.Live(watch.Now())
			replies += s.Replies
			// The last second may be shorter.
			env.Report.ProgressAt(session.MetricThroughput, "op", min(time.Duration(s.Index+1)*time.Second, time.Since(start)), float64(replies))
		},
	})
	end(err)
	if err != nil {
		return fmt.Errorf("visiting %s: %w", p.URL, err)
	}
	report := watch.Report(usage, p.crowd)
	for _, example := range append(usage.Examples[:], report.Tally.Example) {
		if example != nil {
			_, _ = fmt.Fprintln(env.Stderr, example) // kept with the task; the counts do not depend on it
		}
	}
	return report.Publish(env.Report)
}

// stages says when ramps and run begin and end, which count from start as the users
// do, until the function returned is called with how the visits ended: what they
// were cut short in has failed.
func stages(to workload.Reporter, c session.Config, start time.Time) (end func(error)) {
	var cause error
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for _, s := range []struct {
			name  string
			until time.Duration
		}{{"ramp_up", c.From}, {"run", c.To}, {"ramp_down", math.MaxInt64}} {
			to.Stage(s.name, model.StageBegun, "")
			select {
			case <-time.After(time.Until(start.Add(s.until))):
			case <-over:
				if cause != nil {
					to.Stage(s.name, model.StageFailed, cause.Error())
					return
				}
			}
			to.Stage(s.name, model.StageDone, "")
		}
	}()
	return func(err error) {
		cause = err
		close(over)
		<-done
	}
}

// Cleanup implements workload.Cleaner.
func (p *Params) Cleanup(context.Context, *workload.Env) error {
	if p.driver == nil {
		return nil
	}
	return p.driver.Close()
}
