package jobs

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/environ"
	"github.com/scalebench/scalebench/internal/jobs"
	"github.com/scalebench/scalebench/internal/workload"
)

// Validate implements workload.Workload.
func (p *Params) Validate() error {
	return errors.Join(p.checkItems(), p.checkWork(), p.checkStage(), p.checkStore(), p.checkLimits())
}

// given counts what is.
func given(ways ...bool) (n int) {
	for _, is := range ways {
		if is {
			n++
		}
	}
	return n
}

func (p *Params) checkItems() error {
	var errs []error
	if i := p.Items; i != nil {
		ways := given(i.Count != 0, len(i.List) > 0, i.Prefix != "")
		errs = append(errs,
			workload.Invalid(ways != 1, "items", fmt.Sprintf("has %d of count, list and prefix", ways),
				"use exactly one of them"),
			workload.Refuse(i.Count < 0 || i.Count > jobs.MaxItems, "items.count", fmt.Sprintf("1 to %d", jobs.MaxItems),
				"%d is impossible", i.Count))
		for n, name := range i.List {
			errs = append(errs, workload.Refuse(name == "" || len(name) > jobs.MaxName, fmt.Sprintf("items.list[%d]", n),
				fmt.Sprintf("a name of 1 to %d bytes", jobs.MaxName), "%.40q is impossible", name))
		}
	}
	named := p.Items != nil || p.Stage != nil || p.NATS != nil
	errs = append(errs,
		workload.Invalid(p.Items != nil && p.Stage != nil, "items", "stand beside stage, which makes the items",
			"leave out one of them"),
		workload.Invalid(p.Items != nil && p.NATS != nil, "items", "stand beside nats, of which the messages are the items",
			"leave out one of them"),
		workload.Invalid(!named && p.Duration == 0, "items", "are missing, and without duration the work would not end",
			"give items, stage, nats or duration"),
		workload.Invalid(!named && p.Get != nil, "get", "has no items whose objects could be got",
			"give items, stage or nats"))
	if p.NATS != nil {
		errs = append(errs, p.NATS.Check())
	}
	return errors.Join(errs...)
}

// checkWork checks what is done with an item.
func (p *Params) checkWork() error {
	timed := p.Function == Sleep || p.Function == Spin
	files := p.Function == Copy || p.Function == Sort
	problem, allowed := environ.Check(p.PassEnv)
	errs := []error{
		workload.Invalid(strings.TrimSpace(p.Command)+p.Function == "", "command", "and function are missing",
			"say with one of them what is done with an item"),
		workload.Invalid(strings.TrimSpace(p.Command) != "" && p.Function != "", "command", "stands beside function",
			"leave out one of them"),
		workload.Refuse(p.Function != "" && !timed && !files, "function", "copy, sort, sleep, spin", "%q is unknown",
			p.Function),
		workload.Invalid(timed && p.Time <= 0, "time", "is missing", "say how long the function takes, such as 100ms"),
		workload.Invalid(!timed && p.Time != 0, "time", "is for the functions sleep and spin alone", "leave it out"),
		workload.Invalid(files && !p.gets(), "function", p.Function+" needs an object for each item",
			"give get, stage or items.prefix"),
		workload.Invalid(timed && p.Put != nil, "put", "has nothing to put: function "+p.Function+" writes no output",
			"leave it out"),
		workload.Invalid(strings.Contains(p.Command, "{in}") && !p.gets(), "command", "names {in}, and nothing is got",
			"give get, stage or items.prefix"),
		workload.Invalid(strings.Contains(p.Command, "{out}") && p.Put == nil, "command", "names {out}, and nothing is put",
			"give put, or write to /dev/null"),
		workload.Invalid(problem != "", "pass_env", problem, allowed),
		checkPlaceholders("command", p.Command),
	}
	return errors.Join(errs...)
}

func (p *Params) checkStage() error {
	s := p.Stage
	if s == nil {
		return nil
	}
	ways := given(s.File != "", s.Make != "", s.Size != 0)
	return errors.Join(
		workload.Refuse(s.Copies < 1, "stage.copies", "1 or more", "%d is impossible", s.Copies),
		workload.Invalid(ways != 1, "stage", fmt.Sprintf("has %d of file, make and size", ways),
			"use exactly one of them"),
		workload.Refuse(s.File != "" && !filepath.IsAbs(s.File), "stage.file", "an absolute path",
			"%q depends on where the agent was started", s.File),
		workload.Invalid(s.Make != "" && !strings.Contains(s.Make, "{out}"), "stage.make", "does not name {out}",
			"have the command write into {out}"),
		checkPlaceholders("stage.make", s.Make),
		workload.Refuse(s.Size < 0, "stage.size", "1B or more", "%v is impossible", s.Size),
		workload.Invalid(s.Announce && p.NATS == nil, "stage.announce", "needs a queue in NATS",
			"give nats, or leave it out"))
}

// checkStore checks both buckets as the store does.
func (p *Params) checkStore() error {
	var errs []error
	var checked string
	check := func(used bool, key, bucket string) {
		switch {
		case used && bucket == "":
			errs = append(errs, workload.Invalid(true, "bucket", "is missing", "name the bucket to "+key))
		case used && bucket != checked: // what both have is said once
			errs, checked = append(errs, p.config(bucket, nil).Check()), bucket
		}
	}
	items := "" // the folder of those that are objects
	switch {
	case p.Stage != nil:
		items = p.Stage.folder()
	case p.Items != nil && p.Items.Prefix != "":
		items = strings.TrimPrefix(p.Items.Prefix, "/")
	case p.NATS != nil && p.Get != nil:
		items = p.Get.Prefix
	}
	errs = append(errs, workload.Refuse(p.isResult(items), "put.prefix", "another folder than that of the items",
		"results lie in %s, and items below %s", p.results(), items))
	check(p.gets(), "get from", p.getBucket())
	check(p.Put != nil, "put into", p.putBucket())
	return errors.Join(errs...)
}

func (p *Params) checkLimits() error {
	const shortest = 100 * time.Millisecond
	impossible := func(bad bool, field string, value any, allowed string) error {
		return workload.Refuse(bad, field, allowed, "%v is impossible", value)
	}
	lease := p.Lease.Std()
	return errors.Join(
		impossible(p.Slots.Number < 0 || p.Slots.Number > workload.MaxThreads, "slots", p.Slots.Number,
			fmt.Sprintf("1 to %d; leave it out for one per core", workload.MaxThreads)),
		impossible(p.Duration != 0 && p.Duration.Std() < shortest, "duration", p.Duration,
			"100ms or more; leave it out to work until each item is done"),
		impossible(p.Ramp < 0 || p.Ramp > p.Duration, "ramp", p.Ramp, "0s to the duration"),
		impossible(p.Tries < 1 || p.Tries > jobs.MaxTries, "tries", p.Tries, fmt.Sprintf("1 to %d", jobs.MaxTries)),
		impossible(lease < time.Second || lease > jobs.MaxLease, "lease", p.Lease, "1s to 168h"),
		impossible(p.Outage < 0 || p.Outage.Std() > jobs.MaxLease, "outage", p.Outage, "0s to 168h"),
		impossible(p.RequestTimeout.Std() < shortest, "request_timeout", p.RequestTimeout, "100ms or more"),
		impossible(!(p.MaxErrors >= 0 && p.MaxErrors <= 1), "max_errors", p.MaxErrors, "a share from 0 to 1"))
}
