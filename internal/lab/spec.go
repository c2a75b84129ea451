package lab

import (
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// Spec describes a lab as the experiment file does. A lab has either Nodes, or
// Groups; the limits beside Nodes hold for every group that does not set its
// own. Its tags are the source of the JSON Schema.
type Spec struct {
	Nodes int `json:"nodes,omitempty" jsonschema:"minimum=1,maximum=64" jsonschema_description:"How many nodes the lab has. Give either this or groups."`
	Limits
	// Uplink is the rate that the nodes of a group share towards the others.
	Uplink unit.Rate `json:"uplink,omitzero" jsonschema_description:"Rate that all nodes of a group share towards everything outside the group, in each direction, as behind the uplink of a rack's switch."`
	// Volumes are what Limits.Use refers to; a single one is used by every node.
	Volumes []Volume `json:"volumes,omitempty" jsonschema:"maxItems=64" jsonschema_description:"Volumes to write to. Workloads name them: volume: NAME."`
	Groups  []Group  `json:"groups,omitempty" jsonschema:"minItems=1,maxItems=64" jsonschema_description:"Groups of nodes that share an uplink, as racks do."`
}

// Limits are those of one node. Zero values mean no limit.
type Limits struct {
	Link   unit.Rate `json:"link,omitzero" jsonschema_description:"Rate of the node's network link in each direction."`
	CPU    float64   `json:"cpu,omitempty" jsonschema:"minimum=0.01,maximum=1024" jsonschema_description:"Cores that the node may use; a fraction is allowed. More in sum than the machine has is an over-commit."`
	Memory unit.Size `json:"memory,omitempty" jsonschema_description:"Memory that the node may use; at least 64MiB."`
	// Use lists the names of volumes. Nil: all.
	Use []string `json:"use,omitempty" jsonschema:"maxItems=64" jsonschema_description:"Names of the volumes that the node has. Default: all."`
}

// Group is a set of nodes that share an uplink.
type Group struct {
	Name  string `json:"name" jsonschema:"required,format=scalebench-name,pattern=^[A-Za-z0-9][A-Za-z0-9_-]*$" jsonschema_description:"Name of the group; its nodes have the label group=NAME."`
	Nodes int    `json:"nodes" jsonschema:"required,minimum=1,maximum=64" jsonschema_description:"How many nodes the group has."`
	Limits
	Uplink unit.Rate `json:"uplink,omitzero" jsonschema_description:"Rate that the nodes of this group share towards everything outside it, in each direction."`
}

// Volume is something to write to. Each node gets one of its own unless the
// volume is shared.
type Volume struct {
	Name string     `json:"name" jsonschema:"required,format=scalebench-name,pattern=^[A-Za-z0-9][A-Za-z0-9_-]*$" jsonschema_description:"Name of the volume."`
	Type VolumeType `json:"type,omitempty" jsonschema:"enum=ext4,enum=raw,enum=folder,default=ext4" jsonschema_description:"ext4: a file system on a block device, made without lazy initialisation. raw: the block device itself. folder: a plain folder, which cannot have limits."`
	Size unit.Size  `json:"size,omitempty" jsonschema_description:"Size of the block device. Default: 1GiB."`
	// IOPS and Bandwidth hold for reads and for writes each; 0 is no limit.
	IOPS      int       `json:"iops,omitempty" jsonschema:"minimum=1" jsonschema_description:"Operations per second of the device, for reads and for writes each."`
	Bandwidth unit.Rate `json:"bandwidth,omitzero" jsonschema_description:"Bytes per second of the device, for reads and for writes each."`
	Shared    bool      `json:"shared,omitempty" jsonschema_description:"true: one volume for all its nodes together. false: one for each node."`
}

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
	// Environ is added to the environment of the command.
	Environ map[string]string `json:"environ,omitempty" jsonschema_description:"Environment variables of the command."`
	Limits
}

// Host is one host of a lab: a node, or the host of a service.
type Host struct {
	Name    model.NodeID `json:"name"`            // node id, or the service's name
	Group   string       `json:"group,omitempty"` // empty for services and in a lab without groups
	Address string       `json:"address"`         // IPv4, the same whenever the same Spec is built
	Limits
	Service *Service `json:"service,omitempty"` // nil for nodes
}
