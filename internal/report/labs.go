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

// Labs prints the labs of this machine, in the order given. JSON has their
// whole manifests; CSV has one line per lab.
func Labs(w io.Writer, labs []Lab, f Format, o Options) error {
	switch {
	case f == JSON && labs == nil:
		return writeJSON(w, []Lab{})
	case f == JSON:
		return writeJSON(w, labs)
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
// lab's whole manifest.
func LabHosts(w io.Writer, l Lab, f Format, o Options) error {
	if f == JSON {
		return writeJSON(w, l)
	}
	t := &table.Table{Columns: []table.Column{
		{Key: "host", Head: "host"}, {Key: "kind", Head: "kind"}, {Key: "group", Head: "group"}, {Key: "address", Head: "address"},
		{Key: "limits", Head: "limits"}, {Key: "volumes", Head: "volumes"}, {Key: "namespace", Head: "namespace"},
	}}
	for _, h := range l.Hosts {
		kind := "node"
		if h.Service != nil {
			kind = "service"
		}
		volumes := volumeTexts(h.Paths)
		t.Add(table.Text(string(h.Name)), table.Text(kind), table.Text(h.Group), table.Text(h.Address),
			table.Text(limitsText(h.Limits)), table.Of(strings.Join(volumes, " "), volumes...), table.Text(h.Namespace.Name))
	}
	return writeTable(w, t, f, o)
}

// limitsText says what a host is limited to: "link 100Mbit/s, cpu 0.5".
func limitsText(l lab.Limits) string {
	var out []string
	if l.Link != (unit.Rate{}) {
		out = append(out, "link "+l.Link.String())
	}
	if l.CPU > 0 {
		out = append(out, "cpu "+strconv.FormatFloat(l.CPU, 'f', -1, 64))
	}
	if l.Memory > 0 {
		out = append(out, "memory "+l.Memory.String())
	}
	return strings.Join(out, ", ")
}

// volumeTexts says where each volume is: "data=/path".
func volumeTexts(paths map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		out = append(out, table.Clean(name+"="+paths[name]))
	}
	return out
}
