package model

import "time"

// CampaignState is where a campaign stands in its life.
type CampaignState string

// The states of a campaign.
const (
	CampaignActive  CampaignState = "active"  // repetitions begin when they are due
	CampaignPaused  CampaignState = "paused"  // the user wants none until it is resumed
	CampaignDone    CampaignState = "done"    // the schedule is over
	CampaignStopped CampaignState = "stopped" // the user ended it
)

// Final reports whether nothing more will happen by itself.
func (s CampaignState) Final() bool { return s == CampaignDone || s == CampaignStopped }

// Campaign is an experiment that is repeated on a schedule; each repetition is a
// run.
type Campaign struct {
	ID         CampaignID    `json:"id"`
	Name       string        `json:"name"`
	State      CampaignState `json:"state"`
	Reason     string        `json:"reason,omitempty"` // why the state is what it is, for people
	SourceName string        `json:"source_name"`
	Source     string        `json:"source"`         // the experiment file with its schedule
	Asked      Asked         `json:"asked,omitzero"` // the question of the file, decoded
	// Server is the public key of the server that minds it: several may share a
	// store.
	Server  string    `json:"server,omitempty"`
	Created time.Time `json:"created"`
	// Begin is when the schedule begins. No repetition is due at End or later; it
	// is zero for a schedule without end, and moves when the campaign is extended.
	Begin time.Time `json:"begin"`
	End   time.Time `json:"end,omitzero"`
	// Seed is that of the jitter.
	Seed     int64     `json:"seed"`
	Finished time.Time `json:"finished,omitzero"`
}

// CampaignID is the id of a campaign: a ULID, as those of runs are.
type CampaignID string

// RepetitionState is what became of one time of the schedule.
type RepetitionState string

// What becomes of a time of the schedule.
const (
	RepetitionRun     RepetitionState = "run"     // there is a run, in whatever state
	RepetitionSkipped RepetitionState = "skipped" // the repetition before had not ended
	RepetitionMissed  RepetitionState = "missed"  // no server was there
	RepetitionPaused  RepetitionState = "paused"  // the campaign was paused
	RepetitionFailed  RepetitionState = "failed"  // no run could be made
	RepetitionDeleted RepetitionState = "deleted" // its run was deleted
)

// Repetition is one time of a campaign's schedule.
type Repetition struct {
	Campaign CampaignID `json:"campaign"`
	// Number counts the times of the schedule from 1, whatever became of them.
	Number int             `json:"number"`
	Due    time.Time       `json:"due"` // with its jitter
	State  RepetitionState `json:"state"`
	// Run is the run, where there is one: its id follows from campaign and number,
	// so that a repetition is never two runs.
	Run RunID `json:"run,omitempty"`
	// Reason is why there was no run, or why the run is in its state.
	Reason string `json:"reason,omitempty"`
	// RunState, Started and Finished are those of the run as last stored, empty
	// without one. They are read with the repetition, not written.
	RunState RunState  `json:"run_state,omitempty"`
	Started  time.Time `json:"started,omitzero"`
	Finished time.Time `json:"finished,omitzero"`
	// Measured: what it measured is stored in brief. Read, not written.
	Measured bool `json:"measured,omitempty"`
}

// CampaignProgress counts the repetitions of a campaign.
type CampaignProgress struct {
	// Last is the number of the last repetition that is recorded; 0: none.
	Last   int                     `json:"last"`
	States map[RepetitionState]int `json:"states"`
	// Runs counts those with a run, by its state.
	Runs map[RunState]int `json:"runs"`
	// Measured is how many have what they measured stored in brief.
	Measured int `json:"measured"`
}
