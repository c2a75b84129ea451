package record

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/doc/term"
	"github.com/scalebench/scalebench/internal/lab"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// mostReason is how much of a run's reason a list of runs has room for, in
// columns; `scalebench show` has all of it.
const mostReason = 80

// leastName is from how many columns on a name is cut where a row is to be one line.
const leastName = 20

// Runs lists runs in the order given, without their experiment files, which
// `scalebench export` has. They are the first of all that match; filtered says
// that not every run does.
func Runs(runs []model.Run, matching int, filtered bool) *doc.Document {
	t := &doc.Table{Columns: []doc.Column{
		column("id", "run"), {Key: "name", Head: "name", Wrap: leastName}, hidden("kind"), column("state", "state"),
		hidden("reason"), hidden("source_name"), hidden("seed"), hidden("version"),
		{Key: "created", Head: "created", Spare: 4}, hidden("started"), hidden("finished"),
		{Key: "seconds", Head: "took", Right: true, Spare: 2}, {Key: "file", Head: "file", For: doc.People, Spare: 1}, {Key: "why", Head: "reason", For: doc.People, Wrap: 40, Spare: 3},
	}, OneLine: true}
	for _, r := range runs {
		seconds := doc.Cell{}
		if d, ok := took(r); ok {
			seconds = doc.Of(d.Seconds(), tookText(r))
		}
		t.Add(say(r.ID), say(r.Name), doc.Of(string(r.Kind)), say(r.State).As(stateTag(r.State).Tone),
			doc.Of(r.Reason), doc.Of(r.SourceName), doc.Of(r.Seed), doc.Of(r.Version), doc.Of(r.Created, minute(r.Created)), timeCell(r.Started), timeCell(r.Finished),
			seconds, people(r.SourceName), people(term.Cut(r.Reason, mostReason)))
	}
	none := "No runs yet, other than repetitions of campaigns. `scalebench demo` makes one in about a minute."
	if filtered {
		none = "No run matches. `scalebench runs` without filters lists the latest."
	}
	d := Listing(t, none)
	if len(runs) < matching {
		blocks := &d.Sections[0].Blocks
		*blocks = append(*blocks, doc.Para(fmt.Sprintf("%d of %s; --limit 0 shows all", len(runs), num.Count(matching, "run"))))
	}
	return d
}

// LabState says how a lab stands.
type LabState string

// Running labs belong to a process that lives, kept ones stand until they are
// removed by hand, and what is left over has lost its process: the next command
// that makes labs removes it.
const (
	LabRunning  LabState = "running"
	LabKept     LabState = "kept"
	LabLeftOver LabState = "left over"
)

// Lab is a lab of this machine as lists show it.
type Lab struct {
	lab.Manifest
	State LabState `json:"state"`
}

// Masked returns the lab without the values of its services' environment, in
// which there may be keys: lists end up in logs and in bug reports.
func (l Lab) Masked() Lab {
	l.Hosts = slices.Clone(l.Hosts)
	for i, h := range l.Hosts {
		if h.Service == nil || len(h.Service.Environ) == 0 {
			continue
		}
		s := *h.Service
		s.Environ = maps.Clone(s.Environ)
		for k := range s.Environ {
			s.Environ[k] = "***"
		}
		l.Hosts[i].Service = &s
	}
	return l
}

// Masked are labs without what may be secret; never nil.
func Masked(labs []Lab) []Lab {
	out := make([]Lab, len(labs))
	for i, l := range labs {
		out[i] = l.Masked()
	}
	return out
}

// Labs lists the labs of this machine, in the order given.
func Labs(labs []Lab) *doc.Document {
	t := &doc.Table{Columns: []doc.Column{
		column("id", "lab"), column("state", "state"), column("created", "created"),
		{Key: "owner", Head: "process", Right: true, Spare: 2}, {Key: "hosts", Head: "hosts", Wrap: 30}, {Key: "dir", Head: "folder", Spare: 1},
	}, OneLine: true}
	for _, l := range labs {
		tone := map[LabState]doc.Tone{LabRunning: doc.Good, LabLeftOver: doc.Bad}[l.State]
		names := make([]string, len(l.Hosts))
		for i, h := range l.Hosts {
			names[i] = string(h.Name)
		}
		const most = 4 // people see a few of them, programs all
		shown := strings.Join(names, " ")
		if len(names) > most {
			shown = fmt.Sprintf("%s and %d more", strings.Join(names[:most], " "), len(names)-most)
		}
		t.Add(say(l.ID), say(l.State).As(tone), timeCell(l.Created),
			doc.Int(l.Owner.PID), doc.Of(strings.Join(names, " "), shown), say(l.Dir))
	}
	return Listing(t, "No labs on this machine. `scalebench lab up FILE` makes one.")
}

// LabHosts lists the hosts of one lab, with how to enter each.
func LabHosts(l Lab) *doc.Document {
	t := &doc.Table{Columns: []doc.Column{
		column("host", "host"), column("kind", "kind"), column("group", "group"), column("address", "address"),
		column("limits", "limits"), column("volumes", "volumes"), column("volume_limits", "volume limits"),
		column("namespace", "namespace"),
	}}
	for _, h := range l.Hosts {
		kind := "node"
		if h.Service != nil {
			kind = "service"
		}
		volumes, limits := pairs(h.Paths), volumeLimits(l.Volumes, h)
		t.Add(say(h.Name), say(kind), say(h.Group), say(h.Address), say(limitsText(h)),
			doc.Of(strings.Join(volumes, " "), volumes...), doc.Of(strings.Join(limits, " "), limits...), say(h.Namespace.Name))
	}
	return Listing(t, "")
}

// limitsText says what a host is limited to: "link 100Mbit/s, cpu 0.5". The
// uplink is shared by all hosts of its group.
func limitsText(l lab.HostRecord) string {
	var out phrases
	out.add(l.Link != (unit.Rate{}), "link %s", l.Link)
	out.add(l.Delay > 0, "delay %s", l.Delay)
	out.add(l.Queue > 0, "queue %s", l.Queue)
	out.add(l.Uplink != (unit.Rate{}), "shared uplink %s", l.Uplink)
	out.add(l.CPU > 0, "cpu %s", strconv.FormatFloat(l.CPU, 'f', -1, 64))
	out.add(l.Memory > 0, "memory %s", l.Memory)
	return strings.Join(out, ", ")
}

// phrases are those of a text that hold.
type phrases []string

func (p *phrases) add(holds bool, format string, args ...any) {
	if holds {
		*p = append(*p, fmt.Sprintf(format, args...))
	}
}

// volumeLimits says what each volume of a host is, in the order of its paths:
// "data (256MiB, 400op/s, 80MB/s, shared)". Volumes are those of the lab; one
// that is not shared stands there once for each host.
func volumeLimits(volumes []lab.VolumeRecord, h lab.HostRecord) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(h.Paths)) {
		i := slices.IndexFunc(volumes, func(v lab.VolumeRecord) bool {
			return v.Name == name && slices.Contains(v.Hosts, string(h.Name))
		})
		if i >= 0 {
			out = append(out, volumeText(volumes[i].Volume))
		}
	}
	return out
}

func volumeText(v lab.Volume) string {
	var out phrases
	out.add(v.Type == lab.Folder, "folder")
	out.add(v.Size > 0, "%s", v.Size)
	out.add(v.IOPS > 0, "%dop/s", v.IOPS)
	out.add(v.Bandwidth != (unit.Rate{}), "%s", v.Bandwidth)
	out.add(v.Shared, "shared")
	if len(out) == 0 {
		return v.Name
	}
	return fmt.Sprintf("%s (%s)", v.Name, strings.Join(out, ", "))
}
