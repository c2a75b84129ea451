package lab

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// Spec describes a lab as the experiment file does. A lab has either Nodes, or
// Groups; the limits beside Nodes hold for every group that does not set its
// own. Its tags are the source of the JSON Schema.
type Spec struct {
	Nodes int `json:"nodes,omitempty" jsonschema:"minimum=1,maximum=64" jsonschema_description:"Number of nodes of the lab. Use either nodes or groups."`
	Limits
	// Uplink is the rate that the nodes of a group share towards the others.
	Uplink unit.Rate `json:"uplink,omitzero" jsonschema_description:"Rate that all nodes of a group share towards everything outside the group, in each direction, as behind the uplink of a rack's switch."`
	// Volumes are what Limits.Use refers to; a single one is used by every node.
	Volumes []Volume `json:"volumes,omitempty" jsonschema:"maxItems=64" jsonschema_description:"Volumes to write to. Workloads name them: volume: NAME."`
	// Labels are those of every node; a group's own come first.
	Labels map[string]string `json:"labels,omitempty" jsonschema_description:"Labels of every node. Facts by which measurements may differ: processor: xeon, zone: a."`
	Busy   *Busy             `json:"busy,omitempty" jsonschema_description:"A part of each day in which links or processors are slower. A lab has the limits of the time when it is made."`
	Groups []Group           `json:"groups,omitempty" jsonschema:"minItems=1,maxItems=64" jsonschema_description:"Groups of nodes that share an uplink, as racks do."`
}

// Size is the number of nodes.
func (s Spec) Size() int {
	n := s.Nodes
	for _, g := range s.Groups {
		n += g.Nodes
	}
	return n
}

// Limits are those of one node. Zero values mean no limit.
type Limits struct {
	Link unit.Rate `json:"link,omitzero" jsonschema_description:"Rate of the node's network link in each direction."`
	// Delay is that of the link in each direction.
	Delay unit.Duration `json:"delay,omitempty" jsonschema_description:"Time that each frame takes longer over the node's network link, in each direction: two nodes with 1ms are 4ms of round trip apart. Needs netem in the kernel (module sch_netem)."`
	// Queue is that of the link in each direction.
	Queue  unit.Duration `json:"queue,omitempty" jsonschema_description:"Time that a frame waits at most before the node's network link, in each direction; what would wait longer is dropped. Default: 20ms, at least 64KiB. A longer queue keeps a slow link busy where many short connections share it."`
	CPU    float64       `json:"cpu,omitempty" jsonschema:"minimum=0.01,maximum=1024" jsonschema_description:"Cores that the node may use; a fraction is allowed. A sum above the machine's cores is an over-commit."`
	Memory unit.Size     `json:"memory,omitempty" jsonschema_description:"Memory that the node may use; at least 64MiB."`
	// Use lists the names of volumes. Nil: all.
	Use []string `json:"use,omitempty" jsonschema:"maxItems=64" jsonschema_description:"Names of the volumes that the node has. Default: all."`
}

// Group is a set of nodes that share an uplink.
type Group struct {
	Name  string `json:"name" jsonschema:"required,format=scalebench-name,pattern=^[A-Za-z0-9][A-Za-z0-9_-]*$" jsonschema_description:"Name of the group; its nodes have the label group=NAME."`
	Nodes int    `json:"nodes" jsonschema:"required,minimum=1,maximum=64" jsonschema_description:"Number of nodes of the group."`
	Limits
	Uplink unit.Rate         `json:"uplink,omitzero" jsonschema_description:"Rate that the nodes of this group share towards everything outside it, in each direction."`
	Labels map[string]string `json:"labels,omitempty" jsonschema_description:"Labels of the nodes of this group."`
}

// Busy is a part of each day in which links or processors are slower, as where
// others use them at these hours, too. Labs that are made in it have these limits.
type Busy struct {
	From int           `json:"from" jsonschema:"minimum=0,maximum=23" jsonschema_description:"The hour in which it begins, UTC."`
	To   int           `json:"to" jsonschema:"required,minimum=0,maximum=24" jsonschema_description:"The hour before which it ends; the next day's if it is not later than from."`
	Day  unit.Duration `json:"day,omitempty" jsonschema_description:"How long a day takes, to see in minutes what else takes weeks; it has 24 hours all the same. Default: 24h."`
	// Link, Uplink and CPU replace those of all nodes and groups; zero: as they are.
	Link   unit.Rate `json:"link,omitzero" jsonschema_description:"Rate of every node's link then."`
	Uplink unit.Rate `json:"uplink,omitzero" jsonschema_description:"Rate of every uplink then."`
	CPU    float64   `json:"cpu,omitempty" jsonschema:"minimum=0.01,maximum=1024" jsonschema_description:"Cores of every node then."`
}

// LabelHour is the label with the hour of the lab's day in which a lab with busy
// hours was made: "00" to "23".
const LabelHour = "lab_hour"

// LabelDelay is the label with the delay of a node's link, of those that have one.
const LabelDelay = "link_delay"

// At is the lab as it is made at a time: with the limits that hold then.
func (s Spec) At(now time.Time) Spec {
	if s.Busy == nil {
		return s
	}
	b, day := *s.Busy, cmp.Or(s.Busy.Day.Std(), 24*time.Hour)
	hour := int(now.Sub(now.Truncate(day)) * 24 / day) // days begin at midnight, UTC
	s.Labels, s.Busy = merged(s.Labels, map[string]string{LabelHour: fmt.Sprintf("%02d", hour)}), nil
	if in := hour >= b.From && hour < b.To; in || b.To <= b.From && (hour >= b.From || hour < b.To) {
		s.Link, s.Uplink, s.CPU = cmp.Or(b.Link, s.Link), cmp.Or(b.Uplink, s.Uplink), cmp.Or(b.CPU, s.CPU)
		s.Groups = slices.Clone(s.Groups)
		for i := range s.Groups {
			g := &s.Groups[i]
			g.Link, g.Uplink, g.CPU = cmp.Or(b.Link, g.Link), cmp.Or(b.Uplink, g.Uplink), cmp.Or(b.CPU, g.CPU)
		}
	}
	return s
}

// Volume is something to write to. Each node gets one of its own unless the
// volume is shared.
type Volume struct {
	Name string     `json:"name" jsonschema:"required,format=scalebench-name,pattern=^[A-Za-z0-9][A-Za-z0-9_-]*$" jsonschema_description:"Name of the volume."`
	Type VolumeType `json:"type,omitempty" jsonschema:"enum=ext4,enum=raw,enum=folder,default=ext4" jsonschema_description:"ext4: a file system on a block device, made without lazy initialisation. raw: the block device itself. folder: a plain folder, which cannot have limits."`
	Size unit.Size  `json:"size,omitempty" jsonschema_description:"Size of the block device. Default: 1GiB."`
	// IOPS and Bandwidth apply to reads and to writes each; 0: no limit.
	IOPS      int       `json:"iops,omitempty" jsonschema:"minimum=1" jsonschema_description:"Operations per second of the device, for reads and for writes each. One of more than 256KiB counts once for each started 256KiB."`
	Bandwidth unit.Rate `json:"bandwidth,omitzero" jsonschema_description:"Bytes per second of the device, for reads and for writes each."`
	Shared    bool      `json:"shared,omitempty" jsonschema_description:"true: one volume for all its nodes together. false: one for each node."`
}

// Level is the limits of a valid volume, in whole bytes a second.
func (v Volume) Level() model.VolumeLevel {
	rate, _ := v.Bandwidth.BytesPerSecond() // it fails where there is none
	return model.VolumeLevel{IOPS: v.IOPS, Bandwidth: math.Round(rate)}
}

// DefaultVolume is the size of a volume that names none.
const DefaultVolume = unit.GiB

// VolumeType is what a volume looks like to a workload.
type VolumeType string

// The types of volumes.
const (
	Ext4   VolumeType = "ext4"
	Raw    VolumeType = "raw"
	Folder VolumeType = "folder"
)

// Service is a command that runs on a host of its own for as long as the lab
// is up. Workloads reach it as ${service.NAME}.
type Service struct {
	Name    string `json:"name" jsonschema:"required,format=scalebench-name,pattern=^[A-Za-z0-9][A-Za-z0-9_-]*$" jsonschema_description:"Name of the service. Workloads write ${service.NAME} for its address."`
	Command string `json:"command" jsonschema:"required,minLength=1" jsonschema_description:"Shell command that runs until the fleet is taken down. SCALEBENCH_ADDRESS is the address of its host, SCALEBENCH_DIR an empty folder of its own."`
	Port    int    `json:"port,omitempty" jsonschema:"minimum=1,maximum=65535" jsonschema_description:"TCP port; the run begins when it accepts connections."`
	// PassEnv names variables of the server's environment. Environ is added.
	PassEnv []string          `json:"pass_env,omitempty" jsonschema_description:"Names of variables of the server's environment that the command gets; their values are stored nowhere."`
	Environ map[string]string `json:"environ,omitempty" jsonschema_description:"Environment variables of the command."`
	// When is nil here: whoever reads the file has left out what was not chosen.
	When map[string]any `json:"when,omitempty" jsonschema_description:"Of alternatives: what choose must have for this one to be used, a value or a list of values: {data: replicated}. Alternatives may have one name."`
	Limits
}

// Host is one host of a lab: a node, or the host of a service.
type Host struct {
	Name    model.NodeID      `json:"name"`             // node id, or the service's name
	Group   string            `json:"group,omitempty"`  // empty for services and in a lab without groups
	Labels  map[string]string `json:"labels,omitempty"` // that the file gives a node
	Address string            `json:"address"`          // IPv4, the same whenever the same Spec is built
	Limits
	Service *Service `json:"service,omitempty"` // nil for nodes
}

// serviceNet is the third octet of the services' addresses. Groups count from
// 1 to MaxGroup there, and nodes without groups have 0.
const serviceNet = 255

// prefixBits is the length of the lab's network: all hosts are on one link.
const prefixBits = 16

// address returns 10.213.net.host. The network is known only inside the lab's
// own namespaces, so it may be in use elsewhere, on this machine too.
func address(net, host int) string {
	return netip.AddrFrom4([4]byte{10, 213, byte(net), byte(host)}).String()
}

// Hosts names the hosts of a valid specification: nodes in order, then
// services. Nodes are lab-1, lab-2 … or, with groups, lab-GROUP-1 …; a service's
// host has the service's name. Limits are what holds for the host: a group's
// own, or else the lab's. Use lists the names of all volumes that the host
// has; services have only those that they name.
//
// The result depends on nothing but the arguments.
func (s Spec) Hosts(services []Service) []Host {
	var hosts []Host
	for i := range s.Nodes {
		hosts = append(hosts, Host{
			Name:    model.NodeID(fmt.Sprintf("lab-%d", i+1)),
			Address: address(0, i+1),
			Limits:  s.resolve(Limits{}),
			Labels:  s.Labels,
		})
	}
	for g, group := range s.Groups {
		for i := range group.Nodes {
			hosts = append(hosts, Host{
				Name:    model.NodeID(fmt.Sprintf("lab-%s-%d", group.Name, i+1)),
				Group:   group.Name,
				Address: address(g+1, i+1),
				Limits:  s.resolve(group.Limits),
				Labels:  merged(s.Labels, group.Labels),
			})
		}
	}
	for i, svc := range services {
		hosts = append(hosts, Host{
			Name:    model.NodeID(svc.Name),
			Address: address(serviceNet, i+1),
			Limits:  svc.Limits,
			Service: &svc,
		})
	}
	return hosts
}

// merged are the labels of both; nil without any.
func merged(all, own map[string]string) map[string]string {
	if len(own) == 0 {
		return all
	}
	out := make(map[string]string)
	maps.Copy(out, all)
	maps.Copy(out, own)
	return out
}

// NodeLabels are the labels of a node: those of the file, its fleet and its group.
func (h Host) NodeLabels() map[string]string {
	own := map[string]string{model.LabelFleet: model.FleetLab}
	if h.Group != "" {
		own[model.LabelGroup] = h.Group
	}
	if h.Delay > 0 {
		own[LabelDelay] = h.Delay.String()
	}
	return merged(h.Labels, own)
}

func (s Spec) resolve(own Limits) Limits {
	own.Link = cmp.Or(own.Link, s.Link)
	own.Delay = cmp.Or(own.Delay, s.Delay)
	own.Queue = cmp.Or(own.Queue, s.Queue)
	own.CPU = cmp.Or(own.CPU, s.CPU)
	own.Memory = cmp.Or(own.Memory, s.Memory)
	if own.Use == nil {
		own.Use = s.Use
	}
	own.Use = slices.Clone(own.Use)
	if own.Use == nil {
		for _, v := range s.Volumes {
			own.Use = append(own.Use, v.Name)
		}
	}
	return own
}

// rack is a group of hosts behind one uplink. A rack without a name has its
// hosts on the core bridge itself.
type rack struct {
	uplink unit.Rate
	hosts  []model.NodeID
	direct bool // no bridge of its own
}

// racks says which hosts share a bridge. Services, and the nodes of a lab with
// neither groups nor uplink, are on the core.
func (s Spec) racks(hosts []Host) []rack {
	core := rack{direct: true}
	racks := make([]rack, max(1, len(s.Groups)))
	for i := range racks {
		racks[i].uplink = s.rackUplink(i)
	}
	for _, h := range hosts {
		r := &core
		if i := s.rackOf(h); i >= 0 {
			r = &racks[i]
		}
		r.hosts = append(r.hosts, h.Name)
	}
	racks = slices.DeleteFunc(racks, func(r rack) bool { return len(r.hosts) == 0 })
	return append([]rack{core}, racks...)
}

func (s Spec) rackUplink(i int) unit.Rate {
	if i < len(s.Groups) {
		return cmp.Or(s.Groups[i].Uplink, s.Uplink)
	}
	return s.Uplink
}

// UplinkOf is the rate that a host shares; zero for services, which share none.
func (s Spec) UplinkOf(h Host) unit.Rate {
	if i := s.rackOf(h); i >= 0 {
		return s.rackUplink(i)
	}
	return unit.Rate{}
}

// rackOf returns the index of the host's rack, or -1 for the core.
func (s Spec) rackOf(h Host) int {
	if h.Service == nil && h.Group == "" && s.Uplink != (unit.Rate{}) {
		return 0
	}
	return slices.IndexFunc(s.Groups,
		func(g Group) bool { return g.Name == h.Group }) // of services and nodes without a group none
}
