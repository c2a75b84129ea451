package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/answer"
	"github.com/scalebench/scalebench/internal/campaign"
	"github.com/scalebench/scalebench/internal/control"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/doc/render"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/record"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/study/variability"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

func (c *common) campaignCommand() *cobra.Command {
	cmd := newCommand("campaign", "list campaigns, look at them, pause, resume, extend and stop them",
		`A campaign is an experiment that is repeated on a schedule: "scalebench run FILE"
begins one if the file has the key schedule. Each repetition is a run. Times of the
schedule at which there can be no run are counted with the reason: the repetition
before had not ended, no server was there, the campaign was paused.

A campaign goes on as long as its server runs: "scalebench server", or the command
that began or resumed it. After a stop or a crash it goes on from where it was.

"scalebench variability CAMPAIGN" analyses what was measured so far.`,
		`  scalebench run examples/paper-variance.yaml --detach
  scalebench campaign list
  scalebench campaign status latest
  scalebench campaign pause latest
  scalebench variability nightly`,
		nil)
	cmd.AddCommand(c.campaignList(), c.campaignStatus(), c.campaignResume(), c.campaignExtend(), c.campaignDelete(),
		c.campaignChange("pause", "begin no more repetitions until the campaign is resumed", model.CampaignPaused),
		c.campaignChange("stop", "end a campaign; a repetition that is under way comes to its end", model.CampaignStopped))
	return cmd
}

func (c *common) campaignList() *cobra.Command {
	cmd := newCommand("list", "list campaigns, newest first",
		"",
		"  scalebench campaign list\n  scalebench campaign list --format json",
		c.asking(func(ctx context.Context, s service, _ []string) error {
			list, err := s.CampaignStatuses(ctx)
			if err != nil {
				return err
			}
			return c.print(record.Campaigns(list), append([]campaign.Status{}, list...)) // never null
		}))
	c.addList(cmd)
	return cmd
}

func (c *common) campaignStatus() *cobra.Command {
	cmd := newCommand("status CAMPAIGN",
		"show how far a campaign is: progress, gaps, next start, repetitions, result so far",
		`Shows how far a campaign is. CAMPAIGN is an id, its unique beginning, a name (the
latest campaign of that name), or "latest".`,
		"  scalebench campaign status latest\n  scalebench campaign status nightly --format csv",
		c.asking(func(ctx context.Context, s service, args []string) error {
			_, err := c.showCampaign(ctx, s, args[0])
			return err
		}))
	c.addFormat(cmd)
	return cmd
}

// showCampaign prints how a campaign stands: to people its latest repetitions, and
// what it has found so far; to programs all repetitions.
func (c *common) showCampaign(ctx context.Context, s service, id string) (campaign.Status, error) {
	text := c.formatFlag == string(render.FormatText)
	from := 1
	status, err := s.CampaignStatus(ctx, id, 0)
	if text {
		from = max(1, status.Progress.Last-record.LatestRepetitions+1)
	}
	var all []model.Repetition
	for err == nil && from <= status.Progress.Last { // a part at a time
		status, err = s.CampaignStatus(ctx, string(status.ID), from)
		all = append(all, status.Repetitions...)
		if len(status.Repetitions) == 0 {
			break
		}
		from = all[len(all)-1].Number + 1
	}
	if err != nil {
		return status, err
	}
	status.Repetitions = all
	d := record.Campaign(status, time.Now())
	out, sofar := campaignReport{Status: status}, []doc.Block(nil)
	switch measured := status.Progress.Measured; {
	case measured > mostSoFar:
		sofar = append(sofar, doc.Remark(fmt.Sprintf("`scalebench variability %s` has it: with %s it takes some seconds.",
			status.ID, num.Count(measured, "repetition"))))
	case measured > 0 && c.formatFlag != string(render.FormatCSV):
		found, err := foundSoFar(ctx, s, status)
		if out.Result = found.Result; err != nil {
			out.NoResult = model.Plain(err)
			sofar = append(sofar, doc.Para("None: "+out.NoResult+"."))
		} else {
			sofar = soFar(found.Document, status)
		}
	}
	if sofar != nil {
		d.Sections = append(d.Sections, doc.Section{Title: "Result so far", Blocks: sofar})
	}
	return status, c.print(d, out)
}

// campaignReport is the JSON form of how a campaign stands.
type campaignReport struct {
	campaign.Status

	// Result is what `scalebench variability` says so far, of at most 1,000
	// repetitions; NoResult why there is none.
	Result   json.RawMessage `json:"result,omitempty"`
	NoResult string          `json:"no_result,omitempty"`
}

// foundSoFar is what a campaign has found, by the parameters of its file where
// that asks how much measurements vary.
func foundSoFar(ctx context.Context, s service, status campaign.Status) (answer.Answer, error) {
	return s.Answer(ctx, answer.Question{
		Study:   variability.Kind().Name,
		Sources: []answer.Source{{Source: study.Source{Name: string(status.ID)}, Stored: true}},
	})
}

// checkCampaign holds a campaign that is done to its thresholds.
func (c *common) checkCampaign(ctx context.Context, s service, status campaign.Status) error {
	if status.State != model.CampaignDone {
		return nil
	}
	if status.Progress.Measured == 0 {
		return fmt.Errorf("%w: no repetition of campaign %s has measured anything; `scalebench campaign status %s` shows why", model.ErrInvalid, status.ID, status.ID)
	}
	if status.Asked.Study != variability.Kind().Name {
		return nil
	}
	found, err := foundSoFar(ctx, s, status)
	if err != nil {
		return err
	}
	return found.Err()
}

// mostSoFar is of how many repetitions at most the status of a campaign has the
// result: status must be there at once.
const mostSoFar = 1000

// soFar is what a campaign has found, in brief.
func soFar(found *doc.Document, status campaign.Status) []doc.Block {
	out := []doc.Block{doc.Para(found.Answer)}
	for _, s := range found.Sections {
		if s.ID == variability.Overview {
			out = append(out, s.Blocks...)
		}
	}
	more := fmt.Sprintf("`scalebench variability %s -o FILE.html` has all of it, with figures.", status.ID)
	if n := len(found.Warnings); n > 0 {
		more = num.Count(n, "warning") + ". " + more
	}
	return append(out, doc.Remark(more))
}

// campaignChange is a command that moves a campaign to a state.
func (c *common) campaignChange(verb, short string, state model.CampaignState) *cobra.Command {
	return newCommand(verb+" CAMPAIGN", short,
		"",
		"  scalebench campaign "+verb+" latest",
		func(ctx context.Context, args []string) error {
			return c.changeCampaign(ctx, control.CampaignChange{ID: args[0], State: state})
		})
}

// changeCampaign changes a campaign and says how it stands.
func (c *common) changeCampaign(ctx context.Context, change control.CampaignChange) error {
	return c.withService(ctx, toRead, func(ctx context.Context, s service) error {
		changed, err := s.ChangeCampaign(ctx, change)
		if err != nil {
			return err
		}
		_, err = c.showCampaign(ctx, s, string(changed.ID))
		return err
	})
}

func (c *common) campaignResume() *cobra.Command {
	detach := false
	cmd := newCommand("resume CAMPAIGN", "go on with a campaign that was paused, or whose server has ended",
		`Goes on with a campaign that was paused, or that another command began which has
ended. Where no server runs, this command is the server, and goes on until the
campaign is over or Ctrl-C.`,
		"  scalebench campaign resume latest",
		func(ctx context.Context, args []string) error {
			return c.withService(ctx, toExecute(false, detach), func(ctx context.Context, s service) error {
				x, err := s.CampaignStatus(ctx, args[0], 0)
				if err != nil {
					return err
				}
				exp, err := experiment.Parse(x.SourceName, []byte(x.Source), Kinds(), nil)
				if err == nil && exp.Fleet.Agents != nil && s.own {
					return errNoServerToJoin
				}
				if _, err := s.ChangeCampaign(ctx, control.CampaignChange{ID: string(x.ID), State: model.CampaignActive}); err != nil {
					return err
				}
				return c.finishCampaign(ctx, s, x.ID, detach)
			})
		})
	cmd.Flags().BoolVar(&detach, "detach", false, "with a server: return at once")
	return cmd
}

func (c *common) campaignExtend() *cobra.Command {
	var opt struct {
		For   unit.Duration `flag:"for" jsonschema_description:"How much longer, such as 36h or 7d."`
		Until string        `flag:"until" jsonschema_description:"Its new end: 2026-12-24 or 2026-12-24T18:00 (UTC)."`
	}
	cmd := newCommand("extend CAMPAIGN", "let a campaign end later; one that is done goes on",
		"",
		"  scalebench campaign extend latest --for 14d\n  scalebench campaign extend latest --until 2026-12-24",
		func(ctx context.Context, args []string) (err error) {
			change := control.CampaignChange{ID: args[0], Longer: opt.For}
			if (opt.For == 0) == (opt.Until == "") {
				return usageError("give --for SPAN or --until TIME")
			}
			if change.Until, _, err = moment("--until", opt.Until, time.Now()); err != nil {
				return err
			}
			return c.changeCampaign(ctx, change)
		})
	addOptions(cmd.Flags(), &opt)
	return cmd
}

func (c *common) campaignDelete() *cobra.Command {
	runs, yes := false, false
	cmd := newCommand("delete CAMPAIGN", "remove a campaign that is over; its runs stay, as runs of their own",
		`Removes a campaign that is over. Its runs stay, as runs of their own; with --runs
they are deleted, too, with all that they measured: that is asked first.`,
		"  scalebench campaign delete latest --runs",
		c.asking(func(ctx context.Context, s service, args []string) error {
			id := args[0]
			if runs {
				x, err := s.CampaignStatus(ctx, id, 0)
				if err != nil {
					return err
				}
				id = string(x.ID) // the one that was asked about, whatever begins meanwhile
				if x.State.Final() && !yes &&
					!c.confirm(fmt.Sprintf("delete campaign %s (%s, %s) with its %s and all that they measured?", x.ID, x.Name,
						x.State, num.Count(x.Progress.States[model.RepetitionRun], "run"))) {
					return errors.New("not deleted; answer y, or give --yes")
				}
			}
			x, err := s.ChangeCampaign(ctx, control.CampaignChange{ID: id, Delete: true, DeleteRuns: runs})
			if err == nil {
				c.say("campaign %s is deleted", x.ID)
			}
			return err
		}))
	cmd.Flags().BoolVar(&runs, "runs", false, "delete its runs, too, with all that they measured (asks first)")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// startCampaign begins the campaign that an experiment file with a schedule is.
func (c *common) startCampaign(ctx context.Context, name string, exp *experiment.Experiment, opt runOptions) error {
	if flag := opt.gates.flag(); flag != "" {
		return usageError("%s is about a single run, and %s has a schedule; give the file a threshold for all "+
			"repetitions, such as study: {kind: variability, fail_above: 5}", flag, name)
	}
	if of := exp.Study; of != nil && of.Kind != variability.Kind().Name {
		if keys := study.Thresholds(of.Study); len(keys) > 0 {
			c.say("! study.%s of %s is about one run, and holds for no campaign; `scalebench %s RUN` asks it of a repetition, and study: {kind: variability, fail_above: 5} holds for all", num.List(keys), name, of.Kind)
		}
	}
	return c.withService(ctx, toExecute(exp.Fleet.Agents != nil, opt.detach), func(ctx context.Context, s service) error {
		id, err := s.StartCampaign(ctx, newSource(name, exp.Source, model.KindExperiment))
		if err != nil {
			return err
		}
		return c.finishCampaign(ctx, s, id, opt.detach)
	})
}

// finishCampaign follows a campaign to its end, shows how it stands then and holds
// it to thresholds, or leaves it to the server.
func (c *common) finishCampaign(ctx context.Context, s service, id model.CampaignID, detach bool) error {
	if detach {
		c.say("the server goes on with campaign %s; `scalebench campaign status %s` shows how far it is", id, id)
		return c.out(string(id))
	}
	err := c.followCampaign(ctx, s, id)
	rest := context.WithoutCancel(ctx)
	if ctx.Err() != nil && s.own {
		c.say("ending; press Ctrl-C again to stop at once")
		if err := s.Halt(); err != nil {
			c.log.Warn("ending the campaign's run", "err", err)
		}
		c.say("what was measured is kept; `scalebench campaign resume %s` goes on, and so does `scalebench server`; times until then count as missed", id)
	} else if ctx.Err() != nil {
		c.say("the campaign goes on at the server; `scalebench campaign stop %s` ends it", id)
	}
	status, failed := c.showCampaign(rest, s, string(id))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err = cmp.Or(err, failed); err != nil {
		return err
	}
	return c.checkCampaign(ctx, s, status)
}

// followCampaign tells what becomes of each repetition until the campaign is
// over. A server that is away is waited for.
func (c *common) followCampaign(ctx context.Context, s service, id model.CampaignID) error {
	told := make(map[int]string)
	next, away := time.Time{}, time.Time{}
	from := 0 // the first repetition of which there may be news; 0: not known yet
	for {
		status, err := s.CampaignStatus(ctx, string(id), from)
		switch {
		case errors.Is(err, model.ErrUnavailable) && from > 0 && (away.IsZero() || time.Since(away) < control.AwaitPatience):
			if away.IsZero() {
				away = time.Now()
				c.say("! the server does not answer: %v; retrying for up to %s; the campaign goes on with its server", err, control.AwaitPatience)
			}
		case err != nil:
			return err
		default:
			away = time.Time{}
			if from == 0 {
				c.say("campaign %s: %s", id, status.Schedule)
			}
			from = c.tellRepetitions(ctx, s, status, max(from, 1), told)
			if wait := time.Until(status.Next); status.Next != next && wait > 2*time.Second {
				c.say("the next repetition begins at %s, in %s", status.Next.UTC().Format("2006-01-02 15:04:05 MST"), num.Brief(wait))
				next = status.Next
			}
			if status.State.Final() && from > status.Progress.Last {
				if p := status.Progress; p.Last > 0 && p.Runs[model.RunDone] == 0 {
					return fmt.Errorf("no repetition of campaign %s ended as intended", id)
				}
				return nil
			}
		}
		if err := workload.Pause(ctx, followEvery); err != nil {
			return err
		}
	}
}

// tellRepetitions tells what is new of the repetitions from a number on, and
// returns from which there may be more. A status without repetitions is one that
// tells where to begin.
func (c *common) tellRepetitions(ctx context.Context, s service, status campaign.Status, from int, told map[int]string) int {
	if status.Repetitions == nil && status.Progress.Last >= from {
		if l := status.Latest; l != nil && !l.RunState.Final() {
			return l.Number
		}
		return status.Progress.Last + 1
	}
	open := false
	for _, r := range status.Repetitions {
		text := repetitionText(r)
		if r.RunState == model.RunPending {
			if run, err := s.Run(ctx, string(r.Run)); err == nil && run.Reason != "" {
				text += ": " + run.Reason
			}
		}
		if told[r.Number] != text {
			c.say("%s", text)
			told[r.Number] = text
		}
		if open = open || r.State == model.RepetitionRun && !r.RunState.Final(); !open {
			delete(told, r.Number)
			from = r.Number + 1
		}
	}
	return from
}

// followEvery is how often a campaign is looked at while it is followed.
const followEvery = time.Second

// repetitionText is what became of a time of the schedule, in a line.
func repetitionText(r model.Repetition) string {
	text := fmt.Sprintf("repetition %d, due %s: ", r.Number, r.Due.UTC().Format("2006-01-02 15:04:05"))
	if r.State != model.RepetitionRun {
		return text + strings.TrimSuffix(string(r.State)+": "+r.Reason, ": ")
	}
	text += string(r.RunState)
	if r.RunState.Final() && r.Finished.After(r.Started) {
		text += " in " + num.Brief(r.Finished.Sub(r.Started))
	}
	return text + ", run " + string(r.Run)
}
