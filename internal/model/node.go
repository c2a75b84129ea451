package model

import "time"

// Node is one host of a fleet, as it described itself when it registered.
type Node struct {
	ID         NodeID            `json:"id"`
	PublicKey  string            `json:"public_key"` // its nkey, "U…"
	Labels     map[string]string `json:"labels,omitempty"`
	Facts      Facts             `json:"facts"`
	Registered time.Time         `json:"registered"`
	// Left is when its agent said goodbye; zero since it said hello again, and in
	// the nodes of runs.
	Left time.Time `json:"left,omitzero"`
	// Startups are, in the nodes of runs, how often their fleet was asked for this
	// one and how long it took each time; none for agents that the user started.
	Startups []Startup `json:"startups,omitempty"`
}

// Startup is how long a node took to come up.
type Startup struct {
	// Requested is when the fleet was asked for it.
	Requested time.Time `json:"requested"`
	// Took is the time from then until it had registered, so that it could be
	// given a task. The services of a lab, which come up in between, do not count.
	Took time.Duration `json:"took"`
}

// Has reports whether the node has these labels, all of them.
func (n Node) Has(labels map[string]string) bool {
	for k, want := range labels {
		if got, ok := n.Labels[k]; !ok || got != want {
			return false
		}
	}
	return true
}

// NodeIDs returns the ids of nodes, in their order.
func NodeIDs(nodes []Node) []NodeID {
	out := make([]NodeID, len(nodes))
	for i, n := range nodes {
		out[i] = n.ID
	}
	return out
}

// Facts is what a node says about itself. An empty or zero field means that
// the node could not find out, never that the value is zero.
type Facts struct {
	Hostname  string   `json:"hostname,omitempty"`
	BootID    string   `json:"boot_id,omitempty"`   // of the kernel: nodes with the same one are on one machine
	Addresses []string `json:"addresses,omitempty"` // without loopback and link-local, the default route's first
	OS        string   `json:"os,omitempty"`        // e.g. "Debian GNU/Linux 12 (bookworm)"
	Kernel    string   `json:"kernel,omitempty"`
	Arch      string   `json:"arch,omitempty"`
	CPUModel  string   `json:"cpu_model,omitempty"`
	Cores     int      `json:"cores,omitempty"`     // that this process may use (affinity)
	CPULimit  float64  `json:"cpu_limit,omitempty"` // cores allowed by the cgroup quota
	// CoresTogether is the share of its speed that a core keeps while all of them
	// are busy, by calibration.
	CoresTogether float64    `json:"cores_together,omitempty"`
	Microcode     string     `json:"microcode,omitempty"`  // revision
	Hypervisor    string     `json:"hypervisor,omitempty"` // "kvm", "xen", …; "none" on bare metal
	Memory        int64      `json:"memory,omitempty"`     // bytes
	MemLimit      int64      `json:"mem_limit,omitempty"`  // bytes allowed by the cgroup
	Disks         []Disk     `json:"disks,omitempty"`
	Cloud         *CloudInfo `json:"cloud,omitempty"` // nil without a metadata service
	Agent         string     `json:"agent,omitempty"` // version of the agent
}

// Processors are how many cores all that runs on the node may use; 0: not known.
func (f Facts) Processors() float64 {
	cores := float64(f.Cores)
	if f.CPULimit > 0 && (cores == 0 || f.CPULimit < cores) {
		return f.CPULimit
	}
	return cores
}

// Disk is one block device of a node.
type Disk struct {
	Name       string `json:"name"`
	Size       int64  `json:"size"` // bytes
	Model      string `json:"model,omitempty"`
	Rotational bool   `json:"rotational"`
}

// CloudInfo is what the provider's metadata service says.
type CloudInfo struct {
	Provider     string `json:"provider"`
	InstanceType string `json:"instance_type,omitempty"`
	Zone         string `json:"zone,omitempty"`
	InstanceID   string `json:"instance_id,omitempty"`
}

// NodeStatus is how a node is doing.
type NodeStatus string

// Slow: heard, but late; its processor may be starved by the very benchmark.
// Lost: not heard for a whole lease, or known to have ended.
const (
	NodeAlive NodeStatus = "alive"
	NodeSlow  NodeStatus = "slow"
	NodeLost  NodeStatus = "lost"
	NodeLeft  NodeStatus = "left" // said goodbye
)

// Up reports whether work can be expected of the node.
func (s NodeStatus) Up() bool { return s == NodeAlive || s == NodeSlow }

// Labels that scalebench itself sets or reads. LabelFleet names the fleet
// that started a node's agent, LabelGroup the group that the node belongs to
// (a rack, a zone), LabelAddress where other nodes reach it, instead of the
// address that the node found itself.
const (
	LabelFleet   = "fleet"
	LabelGroup   = "group"
	LabelAddress = "address"
)

// The fleets that a server brings up itself: values of LabelFleet.
const (
	FleetLocal = "local" // processes of the server's own machine
	FleetLab   = "lab"   // hosts of a lab
)

// Managed reports whether a server has brought the node up for a run, with
// which it goes again.
func (n Node) Managed() bool {
	fleet := n.Labels[LabelFleet]
	return fleet == FleetLocal || fleet == FleetLab
}

// Machine names the machine that the node is on, "" if that is not known: nodes that
// the server has brought up are on its own, agents on that with the boot id of their
// kernel.
func (n Node) Machine() string {
	if n.Managed() {
		return "the server"
	}
	return n.Facts.BootID
}

// Absent is the status of a node that is known but not here: agents that a
// server starts end with their run, others have said goodbye or are missed.
func (n Node) Absent() NodeStatus {
	if n.Managed() || !n.Left.IsZero() {
		return NodeLeft
	}
	return NodeLost
}

// NodeInfo is a node with how it is doing.
type NodeInfo struct {
	Node
	Status NodeStatus `json:"status"`
	Heard  time.Time  `json:"heard,omitzero"`
	Task   TaskID     `json:"task,omitempty"` // that it is executing
}
