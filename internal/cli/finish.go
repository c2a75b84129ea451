package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/scalebench/scalebench/internal/control"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report"
)

// finish follows a run to its end and prints what it found.
func (c *common) finish(ctx context.Context, s service, id model.RunID, opt runOptions) error {
	run, err := c.follow(ctx, s, id)
	if ctx.Err() != nil {
		return c.interrupted(ctx, s, id)
	}
	if err != nil {
		return err
	}
	if err := c.printResult(ctx, s, run, opt); err != nil {
		return err
	}
	return endError(run)
}

// follow shows a run's progress until it is over.
func (c *common) follow(ctx context.Context, s service, id model.RunID) (model.Run, error) {
	c.say("run %s", id)
	data, err := s.Data(ctx, id)
	if err != nil {
		return data.Run, err
	}
	live, stop, err := s.Watch(ctx, id)
	if err != nil {
		return data.Run, err
	}
	defer stop()
	watch := newLiveView(c.env, data)
	type end struct {
		run model.Run
		err error
	}
	ended := make(chan end, 1)
	away := make(chan error, 16)
	go func() {
		run, err := control.AwaitEnd(ctx, s, id, func(err error) { away <- err })
		ended <- end{run, err}
	}()
	tick := time.NewTicker(liveTick)
	defer tick.Stop()
	for {
		select {
		case ev, ok := <-live:
			if !ok {
				live = nil // the end will be seen all the same
				continue
			}
			watch.event(ev)
		case <-tick.C:
			watch.tick()
		case err := <-away:
			watch.line(fmt.Sprintf("! the server is away: %v; waiting for it up to %s (`scalebench resume %s` goes on later)",
				err, control.AwaitPatience, id))
		case e := <-ended:
			watch.drain(live)
			watch.close()
			return e.run, e.err
		}
	}
}

// interrupted ends what this command began, in order. A run on a server of
// its own goes on without us. What searches have found until then is printed.
func (c *common) interrupted(ctx context.Context, s service, id model.RunID) error {
	rest := context.WithoutCancel(ctx)
	switch {
	case s.own:
		c.say("ending the run; press Ctrl-C again to end at once")
		if err := s.Halt(); err != nil {
			c.log.Warn("ending the run", "err", err)
		}
		c.printPartial(rest, s, id)
		c.say("what was measured is kept: `scalebench resume %s` goes on from there", id)
		return context.Canceled // the run is not over
	case !reaches(rest, s, id):
		c.say("the server is not reached; `scalebench show %s` tells later how the run stands", id)
	default:
		c.printPartial(rest, s, id)
		c.say("the run goes on at the server: `scalebench show %s`, `scalebench cancel %s`", id, id)
	}
	return context.Cause(ctx)
}

// reaches reports whether the service answers now.
func reaches(ctx context.Context, s service, id model.RunID) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err := s.Run(ctx, string(id))
	return err == nil
}

// endError is the error that a run's end means for the exit code.
func endError(run model.Run) error {
	switch run.State {
	case model.RunDone:
		return nil
	case model.RunIncomplete:
		return fmt.Errorf("%w: run %s is incomplete: %s", model.ErrInvalid, run.ID, run.Reason)
	}
	return fmt.Errorf("run %s: %s: %s", run.ID, run.State, run.Reason)
}

// printResult prints the findings and writes the report.
func (c *common) printResult(ctx context.Context, s service, run model.Run, opt runOptions) error {
	data, err := s.Data(ctx, run.ID)
	if err != nil {
		return err
	}
	format, err := c.format()
	if err != nil {
		return err
	}
	if run.Kind == model.KindBatch {
		return errors.Join(report.Show(c.env.Stdout, data, format, c.printing()), batchError(data))
	}
	if data.Has(model.Search) {
		return c.printSearches(data, format, opt)
	}
	st, err := analyse(data)
	if err != nil {
		return err
	}
	if err := report.Findings(c.env.Stdout, st.findings, format, c.printing()); err != nil {
		return err
	}
	if format == report.Text {
		if err := c.printPictures(st); err != nil {
			return err
		}
	}
	path, err := c.writeReport(st, opt.out)
	if err != nil {
		return err
	}
	c.say("\nreport: %s", path)
	return nil
}

// printPictures prints what people look at: bars, and with several resources
// which of them comes first.
func (c *common) printPictures(s analysed) error {
	if err := write(c.env.Stdout, "\n"); err != nil {
		return err
	}
	if err := report.Bars(c.env.Stdout, s.findings, c.printing()); err != nil {
		return err
	}
	if len(s.ranking.Resources) < 2 && !sweeps(s.scalings) {
		return nil
	}
	if err := write(c.env.Stdout, "\n"); err != nil {
		return err
	}
	return c.printResources(s, report.Text)
}

// writeReport writes the HTML report and returns its path. The path "-" is
// standard output. Only the place of its own choosing does it create: a
// directory that a user misspelt must not come to be.
func (c *common) writeReport(s analysed, path string) (string, error) {
	opt := report.HTMLOptions{Scalings: s.scalings, Ranking: &s.ranking, Capacities: s.capacities, Generated: time.Now(), Version: Version(), Zone: time.Local}
	if path == "-" {
		return path, report.HTML(c.env.Stdout, s.data, s.findings, opt)
	}
	if err := checkReportPath(path); err != nil {
		return "", err
	}
	if path == "" {
		path = c.paths.report(string(s.data.Run.ID))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return "", fmt.Errorf("writing the report: %w", err)
		}
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".report-*")
	if err != nil {
		return "", fmt.Errorf("writing the report: %w", err)
	}
	err = report.HTML(f, s.data, s.findings, opt)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return "", fmt.Errorf("writing the report: %w", err)
	}
	return path, nil
}

func isUnavailable(err error) bool { return errors.Is(err, model.ErrUnavailable) }

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("writing the output: %w", err)
	}
	return nil
}
