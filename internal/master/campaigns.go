package master

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/scalebench/scalebench/internal/campaign"
	"github.com/scalebench/scalebench/internal/control"
	"github.com/scalebench/scalebench/internal/design"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
)

var _ campaign.Runs = (*Master)(nil)

// StartCampaign stores a file with a schedule as a campaign, and begins with it.
func (m *Master) StartCampaign(ctx context.Context, src control.Source) (model.CampaignID, error) {
	if err := src.ID.Validate(); err != nil {
		return "", fmt.Errorf("%w: %w", model.ErrUsage, err)
	}
	id := model.CampaignID(src.ID)
	if _, err := m.cfg.Store.Campaign(ctx, string(id)); err == nil {
		return id, nil // started before; the answer was lost
	}
	exp, err := experiment.Parse(src.Name, []byte(src.Text), m.cfg.Kinds, nil)
	if err != nil {
		return "", err
	}
	if exp.Schedule == nil {
		return "", fmt.Errorf("%w: %s has no schedule; submit it as a run", model.ErrUsage, src.Name)
	}
	if _, err := m.fleetOf("", exp); err != nil {
		return "", err // it could not begin at any time
	}
	c := model.Campaign{
		ID: id, Name: exp.Name, State: model.CampaignActive, SourceName: src.Name, Source: exp.Source, Asked: exp.Asked,
		Server: m.cfg.Server, Created: time.Now().UTC(), Seed: design.Seed(exp, src.ID),
	}
	if c.Begin, c.End, err = exp.Bounds(c.Created); err != nil {
		return "", err
	}
	if err := m.cfg.Store.PutCampaign(ctx, c); err != nil {
		return "", fmt.Errorf("storing the campaign: %w", err)
	}
	m.minder.Changed(id)
	return id, nil
}

// ChangeCampaign pauses, resumes, stops, extends or deletes a campaign. A server
// that resumes one minds it from then on, whoever did before.
func (m *Master) ChangeCampaign(ctx context.Context, change control.CampaignChange) (model.Campaign, error) {
	c, err := control.ChangeStored(ctx, m.cfg.Store, change, m.cfg.Server, time.Now().UTC())
	if err != nil {
		return c, err
	}
	resumed := c.ID
	if change.State != model.CampaignActive {
		resumed = ""
	}
	m.minder.Changed(resumed)
	return c, nil
}

// BeginRepetition implements campaign.Runs.
func (m *Master) BeginRepetition(ctx context.Context, c model.Campaign, rep model.Repetition) (created bool, err error) {
	exp, err := experiment.Parse(c.SourceName, []byte(c.Source), m.cfg.Kinds, nil)
	if err != nil {
		return false, err
	}
	m.checkRoom(ctx)
	if err := m.roomFor(); err != nil {
		return false, err
	}
	if !m.reserve(rep.Run) {
		return false, fmt.Errorf("%w: a run with the id %s is under way", model.ErrUsage, rep.Run)
	}
	run := model.Run{
		ID: rep.Run, Kind: model.KindExperiment, State: model.RunPending, Name: c.Name, SourceName: c.SourceName,
		Source: exp.Source, Asked: exp.Asked,
		Server: m.cfg.Server, Version: m.cfg.Version, Created: time.Now().UTC(), Seed: design.Seed(exp, rep.Run),
		Campaign: c.ID, Repetition: rep.Number,
	}
	nodes, steps, err := m.plan(run.ID, exp)
	if err == nil {
		created, err = m.cfg.Store.CreateRepetition(ctx, rep, run, nodes, steps)
	}
	if err != nil || !created {
		m.release(rep.Run)
		return false, err
	}
	m.enqueue(run, nodes, exp)
	return true, nil
}

// plan chooses the nodes of a run and plans its steps; none while agents are
// missing, for which the run waits.
func (m *Master) plan(run model.RunID, exp *experiment.Experiment) ([]model.Node, []model.Step, error) {
	nodes, err := m.selectNodes(run, exp)
	if errors.Is(err, ErrFewAgents) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	p, err := design.Build(exp, run, nodes)
	if err != nil {
		return nil, nil, err
	}
	return nodes, p.Steps, nil
}

// Over implements campaign.Runs.
func (m *Master) Over(id model.RunID) (ended <-chan struct{}, here bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ended, here = m.finished[id]
	return ended, here
}
