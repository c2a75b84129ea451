package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/lab"
	"github.com/scalebench/scalebench/internal/report/table"
	"github.com/scalebench/scalebench/internal/unit"
)

// LabState says whose a lab is.
type LabState string

// Running labs belong to a process that lives, kept ones stand until somebody
// removes them, and what is left over has lost its process: the next command
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

// hidden stands in place of the value of an environment variable.
const hidden = "***"

// masked returns the lab without the values of its services' environment, in
// which there may be keys: lists end up in logs and in bug reports.
func (l Lab) masked() Lab {
	l.Hosts = slices.Clone(l.Hosts)
	for i, h := range l.Hosts {
		if h.Service == nil || len(h.Service.Environ) == 0 {
			continue
		}
		s := *h.Service
		s.Environ = maps.Clone(s.Environ)
		for k := range s.Environ {
			s.Environ[k] = hidden
		}
		l.Hosts[i].Service = &s
	}
	return l
}

// Labs prints the labs of this machine, in the order given. JSON has their
// manifests, with the values of environments masked; CSV has one line per lab.
func Labs(w io.Writer, labs []Lab, f Format, o Options) error {
	switch {
	case f == JSON && labs == nil:
		return writeJSON(w, []Lab{})
	case f == JSON:
		masked := make([]Lab, len(labs))
		for i, l := range labs {
			masked[i] = l.masked()
		}
		return writeJSON(w, masked)
	case f == Text && len(labs) == 0:
		return writeLines(w, "No labs on this machine. `scalebench lab up FILE` makes one.")
	}
	t := &table.Table{Columns: []table.Column{
		{Key: "id", Head: "lab"}, {Key: "state", Head: "state"}, {Key: "created", Head: "created"},
		{Key: "owner", Head: "process", Align: table.Right}, {Key: "hosts", Head: "hosts"}, {Key: "dir", Head: "folder"},
	}}
	for _, l := range labs {
		t.Add(table.Text(l.ID), labStateCell(l.State), table.Of(l.Created, o.clock(l.Created)),
			table.Of(l.Owner.PID, strconv.Itoa(l.Owner.PID)), hostsCell(l, f), table.Text(l.Dir))
	}
	return writeTable(w, t, f, o)
}

func labStateCell(s LabState) table.Cell {
	style := map[LabState]table.Style{LabRunning: table.Good, LabLeftOver: table.Bad}[s]
	return table.Text(string(s)).As(style)
}

// hostsCell names the hosts: a few of them to people, all to programs.
func hostsCell(l Lab, f Format) table.Cell {
	names := make([]string, len(l.Hosts))
	for i, h := range l.Hosts {
		names[i] = string(h.Name)
	}
	const most = 4
	text := strings.Join(names, " ")
	if f == Text && len(names) > most {
		text = fmt.Sprintf("%s and %d more", strings.Join(names[:most], " "), len(names)-most)
	}
	return table.Text(text)
}

// LabHosts prints the hosts of one lab, with how to enter each. JSON is the
// lab's manifest, with the values of environments masked.
func LabHosts(w io.Writer, l Lab, f Format, o Options) error {
	if f == JSON {
		return writeJSON(w, l.masked())
	}
	t := &table.Table{Columns: []table.Column{
		{Key: "host", Head: "host"}, {Key: "kind", Head: "kind"}, {Key: "group", Head: "group"}, {Key: "address", Head: "address"},
		{Key: "limits", Head: "limits"}, {Key: "volumes", Head: "volumes"}, {Key: "volume_limits", Head: "volume limits"}, {Key: "namespace", Head: "namespace"},
	}}
	for _, h := range l.Hosts {
		kind := "node"
		if h.Service != nil {
			kind = "service"
		}
		volumes, limits := volumeTexts(h.Paths), volumeLimits(l.Volumes, h)
		t.Add(table.Text(string(h.Name)), table.Text(kind), table.Text(h.Group), table.Text(h.Address),
			table.Text(limitsText(h)), table.Of(strings.Join(volumes, " "), volumes...),
			table.Of(strings.Join(limits, " "), limits...), table.Text(h.Namespace.Name))
	}
	return writeTable(w, t, f, o)
}

// limitsText says what a host is limited to: "link 100Mbit/s, cpu 0.5". The
// uplink is shared by all hosts of its group.
func limitsText(l lab.HostRecord) string {
	var out []string
	if l.Link != (unit.Rate{}) {
		out = append(out, "link "+l.Link.String())
	}
	if l.Uplink != (unit.Rate{}) {
		out = append(out, "shared uplink "+l.Uplink.String())
	}
	if l.CPU > 0 {
		out = append(out, "cpu "+strconv.FormatFloat(l.CPU, 'f', -1, 64))
	}
	if l.Memory > 0 {
		out = append(out, "memory "+l.Memory.String())
	}
	return strings.Join(out, ", ")
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
			out = append(out, table.Clean(volumeText(volumes[i].Volume)))
		}
	}
	return out
}

func volumeText(v lab.Volume) string {
	var out []string
	if v.Type == lab.Folder {
		out = append(out, "folder")
	}
	if v.Size > 0 {
		out = append(out, v.Size.String())
	}
	if v.IOPS > 0 {
		out = append(out, strconv.Itoa(v.IOPS)+"op/s")
	}
	if v.Bandwidth != (unit.Rate{}) {
		out = append(out, v.Bandwidth.String())
	}
	if v.Shared {
		out = append(out, "shared")
	}
	if len(out) == 0 {
		return v.Name
	}
	return fmt.Sprintf("%s (%s)", v.Name, strings.Join(out, ", "))
}

// volumeTexts says where each volume is: "data=/path".
func volumeTexts(paths map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		out = append(out, table.Clean(name+"="+paths[name]))
	}
	return out
}
