package network

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

const (
	maxConnections = 1024
	minSize        = unit.Size(1000)
	maxSize        = unit.Size(16_000_000_000)
	minDuration    = 500 * time.Millisecond
	minStall       = 500 * time.Millisecond
	maxDownloads   = 1_000_000_000
)

var (
	tools      = []string{Builtin, Iperf3}
	shapes     = []string{string(workload.Pairs), string(workload.Ring), string(workload.AllToOne), string(workload.AcrossGroups)}
	directions = []string{"", Both, Receive, Send}
)

func field(name, problem, allowed string) error {
	return &workload.FieldError{Field: name, Problem: problem, Allowed: "allowed is " + allowed}
}

// Validate implements workload.Workload.
func (p *Params) Validate() error {
	return errors.Join(p.validateWords(), p.validateNumbers(), p.validateTimes(), p.validateIperf3())
}

func (p *Params) validateWords() error {
	switch {
	case !slices.Contains(tools, p.Tool):
		return field("tool", fmt.Sprintf("there is no tool %q", p.Tool), "builtin or iperf3")
	case !slices.Contains(shapes, p.Shape):
		return field("pairing", fmt.Sprintf("there is no pairing %q", p.Shape), "pairs, ring, all_to_one or across_groups")
	case !slices.Contains(directions, p.Direction):
		return field("direction", fmt.Sprintf("there is no direction %q", p.Direction), "both, receive or send")
	case p.Preset != "" && p.Preset != Paper:
		return field("preset", fmt.Sprintf("there is no preset %q", p.Preset), "paper")
	case p.Sink != "" && p.Shape != string(workload.AllToOne):
		return field("sink", fmt.Sprintf("the pairing %s has no sink", p.Shape), "a sink with pairing: all_to_one only")
	}
	return nil
}

func (p *Params) validateNumbers() error {
	switch {
	case p.Connections < 0 || p.Connections > maxConnections:
		return field("connections", fmt.Sprintf("%d connections are impossible", p.Connections), "1 to 1024")
	case p.Size != 0 && (p.Size < minSize || p.Size > maxSize):
		return field("size", fmt.Sprintf("%s is no useful size of an object in memory", p.Size), "1kB to 16GB")
	case p.Downloads < 0 || p.Downloads > maxDownloads:
		return field("downloads", fmt.Sprintf("%d transfers are impossible", p.Downloads), "1 to 1000000000")
	case p.Downloads > 0 && p.Duration > 0:
		return field("downloads", "either a number of transfers or a time ends the test, and both are given", "downloads or duration")
	case p.Port < 1 || p.Port > 65535:
		return field("port", fmt.Sprintf("%d is no TCP port", p.Port), "1 to 65535")
	}
	return nil
}

func (p *Params) validateTimes() error {
	switch {
	case p.Duration != 0 && p.Duration.Std() < minDuration:
		return field("duration", fmt.Sprintf("%s is too short to measure", p.Duration), "500ms or more")
	case p.WarmUp != nil && (p.WarmUp.Std() < 0 || p.WarmUp.Std() > time.Hour):
		return field("warm_up", fmt.Sprintf("%s is no useful time to warm up", *p.WarmUp), "0s to 1h")
	case p.Stall.Std() < minStall:
		return field("stall", fmt.Sprintf("within %s no peer can be told from a slow one", p.Stall), "500ms or more")
	}
	return nil
}

// validateIperf3 refuses what iperf3 cannot do as the built-in tool does it.
func (p *Params) validateIperf3() error {
	if p.Tool != Iperf3 {
		return nil
	}
	s := p.settings()
	switch {
	case s.downloads > 0:
		return field("downloads", "iperf3 transfers no objects", "a duration with tool: iperf3, or tool: builtin")
	case p.Size != 0:
		return field("size", "iperf3 transfers no objects", "no size with tool: iperf3")
	case s.connections > 128:
		return field("connections", fmt.Sprintf("iperf3 cannot make %d connections", s.connections), "1 to 128 with tool: iperf3")
	case s.duration%time.Second != 0:
		return field("duration", fmt.Sprintf("iperf3 cannot run for %v", s.duration), "whole seconds with tool: iperf3")
	case s.warmUp%time.Second != 0 || s.warmUp > time.Minute:
		return field("warm_up", fmt.Sprintf("iperf3 cannot warm up for %v", s.warmUp), "whole seconds, at most 1m, with tool: iperf3")
	}
	return nil
}
