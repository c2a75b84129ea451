package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/answer"
	"github.com/scalebench/scalebench/internal/control"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/doc/render"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// finish follows a run to its end and prints what it found, or leaves it to the
// server.
func (c *common) finish(ctx context.Context, s service, id model.RunID, opt runOptions) error {
	if opt.detach {
		c.say("the server goes on with run %s; `scalebench show %s` shows how far it is", id, id)
		c.sayWaits(ctx, s, id)
		return c.out(string(id))
	}
	run, err := c.follow(ctx, s, id)
	if ctx.Err() != nil {
		return c.interrupted(ctx, s, id, opt)
	}
	if err != nil {
		return err
	}
	end := endError(run)
	if end != nil && c.formatFlag == string(render.FormatText) {
		if data, err := s.Printed(ctx, id); err == nil && len(data.Results) == 0 {
			return end // pages of "unknown" would hide it
		}
	}
	err = c.printResult(ctx, s, run, opt)
	switch {
	case end == nil:
	case err == nil || errors.Is(err, model.ErrUsage):
		return end // why nothing can be said of it
	default:
		if cause, _ := causeOf(run.Reason); !strings.Contains(err.Error(), cmp.Or(cause, run.Reason)) {
			c.say("! %s", run.State.With(run.Reason))
		}
	}
	return err
}

// sayWaits says what a run that was just submitted waits for, if it does not begin
// within a moment.
func (c *common) sayWaits(ctx context.Context, s service, id model.RunID) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for {
		run, err := s.Run(ctx, string(id))
		if err != nil || run.State != model.RunPending {
			return
		}
		if run.Reason != "" {
			c.say("%s", run.Reason)
			return
		}
		if workload.Pause(ctx, 50*time.Millisecond) != nil {
			return
		}
	}
}

// follow shows a run's progress until it is over.
func (c *common) follow(ctx context.Context, s service, id model.RunID) (model.Run, error) {
	c.say("run %s", id)
	live, stop, err := s.Watch(ctx, id)
	if err != nil {
		return model.Run{}, err
	}
	defer stop()
	data, err := s.Printed(ctx, id) // what came before the first event
	if err != nil {
		return data.Run, err
	}
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
			watch.line(fmt.Sprintf("! the server does not answer: %v; retrying for up to %s (`%s` continues the run later)",
				err, control.AwaitPatience, c.resume(id)))
		case e := <-ended:
			watch.drain(live)
			watch.close()
			return e.run, e.err
		}
	}
}

// resume is the command that continues a run, where its data are.
func (c *common) resume(id model.RunID) string {
	if c.flags.Data == "" {
		return "scalebench resume " + string(id)
	}
	return fmt.Sprintf("scalebench resume %s --%s %s", id, dataDirFlag, c.flags.Data)
}

// interrupted ends what this command began, in order. A run on a server of
// its own goes on without us. What searches have found until then is printed.
func (c *common) interrupted(ctx context.Context, s service, id model.RunID, opt runOptions) error {
	rest := context.WithoutCancel(ctx)
	switch {
	case s.own:
		c.say("ending the run; press Ctrl-C again to stop at once")
		if err := s.Halt(); err != nil {
			c.log.Warn("ending the run", "err", err)
		}
		c.printPartial(rest, s, id)
		again := ""
		if flag := opt.gates.flag(); flag != "" {
			again = "; give it " + flag + " again, which is not stored"
		}
		c.say("what was measured is kept; `%s` continues the run%s", c.resume(id), again)
		return context.Canceled // the run is not over
	case !reaches(rest, s, id):
		c.say("the server does not answer; use `scalebench show %s` later to see the run's state", id)
	default:
		c.printPartial(rest, s, id)
		c.say("the run continues on the server; see `scalebench show %s` and `scalebench cancel %s`", id, id)
	}
	return context.Cause(ctx)
}

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
	return fmt.Errorf("run %s: %s", run.ID, run.State.With(run.Reason))
}

// printResult prints what each study has to say of the run, and writes the
// report. Programs get the first study's result.
func (c *common) printResult(ctx context.Context, s service, run model.Run, opt runOptions) error {
	if run.Kind == model.KindBatch {
		return c.printBatch(ctx, s, run)
	}
	params, err := opt.gates.given()
	if err != nil {
		return err
	}
	begin := time.Now()
	answers, err := s.Findings(ctx, string(run.ID), params)
	if err != nil {
		return fmt.Errorf("analysing run %s (all that it measured is kept): %w", run.ID, err)
	}
	if took := time.Since(begin); took > time.Second { // the last stage; mostly too short to see
		c.say("analysed in %s", num.Seconds(took.Seconds()))
	}
	if len(answers) == 0 {
		return usageError("run %s has nothing that a study can report; `scalebench show %s` shows what it did", run.ID,
			run.ID)
	}
	text, worst := c.formatFlag == string(render.FormatText), answer.Worst(answers...)
	nothing := errors.Is(worst, model.ErrNothing)
	if !text || !nothing { // else the error says all that there is
		if err := c.printAnswers(answers); err != nil {
			return err
		}
	}
	if !text {
		for _, a := range answers[1:] {
			kind, _ := Studies().Find(a.Study)
			c.say("not printed: the answer of %s; `scalebench %s %s --format %s` prints it", a.Study, cmp.Or(kind.CommandName(), a.Study), run.ID, c.formatFlag)
		}
	}
	if nothing && opt.out == "" {
		return worst
	}
	path, err := c.writePage(ctx, s, run.ID, opt.out)
	if err != nil {
		return err
	}
	c.say("\nreport: %s", path)
	return worst
}

// printAnswers prints all answers to people, and the first to programs.
func (c *common) printAnswers(answers []answer.Answer) error {
	if c.formatFlag != string(render.FormatText) {
		answers = answers[:min(len(answers), 1)]
	}
	for i, a := range answers {
		if i > 0 {
			if err := c.out(""); err != nil {
				return err
			}
		}
		if err := c.print(a.Document, a.Result); err != nil {
			return err
		}
	}
	return nil
}

func (c *common) printBatch(ctx context.Context, s service, run model.Run) error {
	a, err := s.Show(ctx, string(run.ID), nil)
	if err != nil {
		return err
	}
	data, err := s.Printed(ctx, run.ID)
	if err != nil {
		return err
	}
	return errors.Join(c.print(a.Document, a.Result), batchError(data))
}

// printPartial prints what the studies of a run that was cut have found so far.
func (c *common) printPartial(ctx context.Context, s service, id model.RunID) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	answers, err := s.Findings(ctx, string(id), nil)
	if err == nil {
		answers = slices.DeleteFunc(answers, func(a answer.Answer) bool {
			kind, _ := Studies().Find(a.Study)
			return !kind.Shown
		})
		err = c.printAnswers(answers)
	}
	if err != nil {
		c.log.Debug("printing what was found", "err", err)
	}
}

// reportPlace is where the report of a run is written: in the data directory, or
// in the current one if nothing can be written there.
func (c *common) reportPlace(id string) (string, error) {
	path := c.paths.report(id)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = unix.Access(filepath.Dir(path), unix.W_OK)
	}
	if errors.Is(err, unix.EROFS) || errors.Is(err, unix.EACCES) {
		return filepath.Abs("scalebench-" + filepath.Base(path))
	}
	return path, err
}

// writePage writes the report of a run and returns its path. The path "-" is
// standard output. Only the place of its own choosing does it create: a
// directory that a user misspelt must not come to be.
func (c *common) writePage(ctx context.Context, s service, id model.RunID, path string) (string, error) {
	if err := checkReportPath(path); err != nil {
		return "", err
	}
	page, err := s.Page(ctx, string(id))
	if err != nil {
		return "", err
	}
	if path == "-" {
		return path, render.HTML(c.env.Stdout, page)
	}
	if path == "" {
		if path, err = c.reportPlace(string(id)); err != nil {
			return "", fmt.Errorf("writing the report: %w", err)
		}
	}
	format, err := render.FormatOfFile(path)
	if err != nil {
		return "", err
	}
	return path, save(path, page, nil, format)
}
