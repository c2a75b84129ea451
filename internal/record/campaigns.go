package record

import (
	"fmt"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/campaign"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/doc/term"
	"github.com/scalebench/scalebench/internal/model"
)

// Campaigns lists campaigns in the order given.
func Campaigns(list []campaign.Status) *doc.Document {
	t := &doc.Table{Columns: []doc.Column{
		column("id", "campaign"), {Key: "name", Head: "name", Wrap: leastName}, column("state", "state"), hidden("reason"),
		{Key: "ran", Head: "ran", Right: true, Tip: "repetitions with a run that is over"}, number("planned", "of"),
		{Key: "gaps", Head: "gaps", Right: true, Tip: "times of the schedule without a run", Spare: 2},
		{Key: "next", Head: "next", Spare: 3}, hidden("end"), {Key: "schedule", Head: "schedule", Wrap: 30, Spare: 1},
	}, OneLine: true}
	for _, s := range list {
		planned := people("no end")
		switch {
		case s.Planned > 0:
			planned = doc.Int(s.Planned)
		case !s.End.IsZero():
			planned = people("not known") // too many, or in a file that cannot be read
		}
		state := string(s.State)
		if s.Left {
			state += ", no server"
		}
		t.Add(say(s.ID), say(s.Name), doc.Of(string(s.State), state).As(campaignTone(s.State)), doc.Of(s.Reason),
			doc.Int(ran(s)), planned, doc.Int(gaps(s)),
			timeCell(s.Next), timeCell(s.End), say(scheduleText(s)))
	}
	return Listing(t, "No campaigns yet. `scalebench run FILE` begins one if the file has a schedule.")
}

func campaignTone(s model.CampaignState) doc.Tone {
	return map[model.CampaignState]doc.Tone{model.CampaignDone: doc.Good, model.CampaignStopped: doc.Bad, model.CampaignPaused: doc.Note}[s]
}

// scheduleText is when a campaign is repeated, or why that is not known.
func scheduleText(s campaign.Status) string {
	if s.Problem != "" {
		return "not known: " + s.Problem
	}
	return s.Schedule
}

// ran is how many repetitions have a run that is over.
func ran(s campaign.Status) int {
	return s.Progress.States[model.RepetitionRun] - s.Progress.Runs[model.RunPending] - s.Progress.Runs[model.RunRunning]
}

// gaps is how many times of the schedule are over without a run.
func gaps(s campaign.Status) int {
	n := 0
	for state, count := range s.Progress.States {
		if state != model.RepetitionRun {
			n += count
		}
	}
	return n
}

// Campaign is how one campaign stands: progress, gaps, what is next, and its
// latest repetitions; programs get all of them.
func Campaign(s campaign.Status, now time.Time) *doc.Document {
	d := &doc.Document{Title: s.Name, Answer: campaignAnswer(s, now), Verdict: doc.Tag{Word: string(s.State), Tone: campaignTone(s.State)}}
	ends := clock(s.End)
	if !s.Finished.IsZero() {
		ends = ""
	}
	about := fields("campaign", string(s.ID), "schedule", scheduleText(s), "began", clock(s.Begin), "ended",
		clock(s.Finished), "ends", ends)
	for _, gap := range gapWords {
		if n := s.Progress.States[gap.state]; n > 0 {
			about = append(about, fields(string(gap.state), num.Count(n, "time")+" of the schedule: "+gap.words)...)
		}
	}
	d.Sections = []doc.Section{{Blocks: []doc.Block{{Fields: about}}}}
	d.Data = repetitions(s.Repetitions)
	if n := len(s.Repetitions); n > 0 {
		latest := repetitions(s.Repetitions[max(0, n-LatestRepetitions):])
		title := "Repetitions"
		if s.Progress.Last > LatestRepetitions {
			title = fmt.Sprintf("The latest %d of %s", LatestRepetitions, num.Count(s.Progress.Last, "repetition"))
		}
		d.Sections = append(d.Sections, doc.Section{ID: "repetitions", Title: title, Blocks: []doc.Block{{Table: latest}}})
	}
	return d
}

// LatestRepetitions is how many repetitions people see of a campaign.
const LatestRepetitions = 10

// gapWords say why there was no run, in the order in which they are shown.
var gapWords = []struct {
	state model.RepetitionState
	words string
}{
	{model.RepetitionSkipped, "the repetition before had not ended"},
	{model.RepetitionMissed, "no scalebench server was there, it stood still or was busy, or its clock was set forward"},
	{model.RepetitionPaused, "the campaign was paused"},
	{model.RepetitionFailed, "no run could be made"},
	{model.RepetitionDeleted, "the run was deleted"},
}

// campaignAnswer says in a sentence how far a campaign is.
func campaignAnswer(s campaign.Status, now time.Time) string {
	did := num.Count(ran(s), "repetition")
	if s.Planned > 0 {
		did = fmt.Sprintf("%d of %s", ran(s), num.Count(s.Planned, "repetition"))
	}
	runs, missed := s.Progress.Runs, gaps(s)
	bad := runs[model.RunFailed] + runs[model.RunIncomplete] + runs[model.RunCancelled] + runs[model.RunInterrupted]
	interrupted := s.Latest != nil && s.Latest.RunState == model.RunInterrupted
	under := s.Latest != nil && !s.Latest.RunState.Final() && !interrupted
	parts := phrases{did + " ran"}
	parts.add(missed > 0, "%s of the schedule had no run", num.Count(missed, "time"))
	parts.add(bad > 0, "%s did not end as intended", num.Count(bad, "run"))
	if under || interrupted {
		parts.add(true, "repetition %d is %s", s.Latest.Number, s.Latest.RunState)
	}
	parts.add(s.State == model.CampaignPaused && !under && !interrupted, "paused: `scalebench campaign resume` goes on")
	switch wait := s.Next.Sub(now); {
	case s.State == model.CampaignPaused: // none begins
	case s.State == model.CampaignActive && !under && (s.Next.IsZero() || !s.End.IsZero() && now.After(s.End)):
		parts.add(true,
			"its schedule is over, and no server has ended it: `scalebench campaign resume` does, or `scalebench server`")
	case s.Next.IsZero():
	case s.Left:
		parts.add(true,
			"its server has ended, so that nothing begins at %s: `scalebench campaign resume %s` goes on, and so does "+
				"`scalebench server`", clock(s.Next), s.ID)
	case wait > 0:
		parts.add(true, "the next begins in %s", num.Brief(wait))
	default:
		parts.add(true,
			"the next was due %s ago: no server minds the campaign, or it is busy or has no room to store anything",
			num.Brief(-wait))
	}
	return num.Sentence(strings.Join(parts, "; "))
}

// repetitions lists repetitions, oldest first.
func repetitions(reps []model.Repetition) *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		number("number", "no."), column("due", "due (UTC)"), column("state", "state"),
		column("run", "run"), hidden("run_state"), hidden("started"), hidden("finished"),
		number("seconds", "took"), {Key: "reason", Head: "reason", Wrap: 30},
	}}
	for _, r := range reps {
		state, tone := string(r.State), doc.Note
		if r.State == model.RepetitionRun {
			state, tone = string(r.RunState), stateTag(r.RunState).Tone
		}
		seconds := doc.Cell{}
		if !r.Started.IsZero() && r.Finished.After(r.Started) {
			d := r.Finished.Sub(r.Started)
			seconds = doc.Of(d.Seconds(), num.Brief(d))
		}
		t.Add(doc.Int(r.Number), doc.Of(r.Due, r.Due.UTC().Format("2006-01-02 15:04:05")),
			doc.Of(string(r.State), state).As(tone), say(r.Run), doc.Of(string(r.RunState)),
			timeCell(r.Started), timeCell(r.Finished), seconds, doc.Of(r.Reason, term.Cut(r.Reason, mostReason)))
	}
	return t
}
