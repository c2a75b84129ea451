package lab

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

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
		})
	}
	for g, group := range s.Groups {
		for i := range group.Nodes {
			hosts = append(hosts, Host{
				Name:    model.NodeID(fmt.Sprintf("lab-%s-%d", group.Name, i+1)),
				Group:   group.Name,
				Address: address(g+1, i+1),
				Limits:  s.resolve(group.Limits),
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

// resolve returns a node's limits: its group's, or else the lab's.
func (s Spec) resolve(own Limits) Limits {
	if own.Link == (unit.Rate{}) {
		own.Link = s.Link
	}
	if own.CPU == 0 {
		own.CPU = s.CPU
	}
	if own.Memory == 0 {
		own.Memory = s.Memory
	}
	if own.Use == nil {
		own.Use = s.Use
	}
	if own.Use == nil {
		for _, v := range s.Volumes {
			own.Use = append(own.Use, v.Name)
		}
	}
	own.Use = slices.Clone(own.Use)
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
		switch i := s.rackOf(h); {
		case i < 0:
			core.hosts = append(core.hosts, h.Name)
		default:
			racks[i].hosts = append(racks[i].hosts, h.Name)
		}
	}
	racks = slices.DeleteFunc(racks, func(r rack) bool { return len(r.hosts) == 0 })
	return append([]rack{core}, racks...)
}

// rackUplink is that of the rack with this index: its own, or else the lab's.
func (s Spec) rackUplink(i int) unit.Rate {
	if i < len(s.Groups) && s.Groups[i].Uplink != (unit.Rate{}) {
		return s.Groups[i].Uplink
	}
	return s.Uplink
}

// uplinkOf is the rate that a host shares; zero for services, which share none.
func (s Spec) uplinkOf(h Host) unit.Rate {
	if i := s.rackOf(h); i >= 0 {
		return s.rackUplink(i)
	}
	return unit.Rate{}
}

// rackOf returns the index of the host's rack, or -1 for the core.
func (s Spec) rackOf(h Host) int {
	switch {
	case h.Service != nil:
		return -1
	case h.Group != "":
		return slices.IndexFunc(s.Groups, func(g Group) bool { return g.Name == h.Group })
	case s.Uplink != (unit.Rate{}):
		return 0
	}
	return -1
}
