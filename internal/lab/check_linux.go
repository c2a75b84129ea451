package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// Check returns nil when this process may build labs. Otherwise it returns one
// error that lists everything that is missing, and how to go on; it is
// model.ErrDenied when rights are missing, and model.ErrUnavailable when the
// machine has not what is needed. Nothing is changed: the network is tried in a
// namespace without a name, which ends with the try, and for cgroups and loop
// devices it only looks and asks.
func Check() error {
	var missing []string
	denied := false
	for _, probe := range []struct {
		what string
		try  func() error
	}{
		{"network namespaces, bridges and veth pairs (root, or CAP_SYS_ADMIN and CAP_NET_ADMIN)", probeNetwork},
		{"cgroups with cpu, memory and io (v2) or blkio (v1) that can be written to", probeCgroups},
		{"loop devices", probeLoops},
	} {
		err := probe.try()
		if err == nil {
			continue
		}
		missing = append(missing, fmt.Sprintf("%s: %v", probe.what, err))
		denied = denied || errors.Is(err, fs.ErrPermission)
	}
	if len(missing) == 0 {
		return nil
	}
	kind := model.ErrUnavailable
	if denied {
		kind = model.ErrDenied
	}
	return fmt.Errorf("a lab cannot be built here: %w; missing: %s; run as root on a machine that has all of this, or use processes instead of hosts (fleet: local)",
		kind, strings.Join(missing, "; "))
}

// probeNetwork makes a bridge and a shaped link where nobody sees it.
func probeNetwork() error {
	ns, err := newNamespace()
	if err != nil {
		return err
	}
	defer func() { _ = ns.Close() }() // and with it everything in it ends
	h, err := handleIn(ns)
	if err != nil {
		return err
	}
	defer h.Close()
	f := &fabric{Handle: h}
	bridge, err := f.bridge(coreBridge)
	if err != nil {
		return err
	}
	if err := f.LinkAdd(&netlink.Veth{LinkAttrs: attrs("a"), PeerName: "b"}); err != nil {
		return fmt.Errorf("making a veth pair: %w", err)
	}
	return f.port("a", bridge, unit.Rate{Value: 1e6, Base: unit.Bits})
}

// probeCgroups asks whether groups can be made in each hierarchy.
func probeCgroups() error {
	g, err := findGroups("probe")
	if err != nil {
		if unix.Geteuid() != 0 {
			return errors.Join(fs.ErrPermission, err)
		}
		return err
	}
	for _, dir := range g.v1 {
		if err := mayWrite(dir); err != nil {
			return err
		}
	}
	return nil
}

// probeLoops asks for a free loop device, without taking it.
func probeLoops() error {
	f, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only asked
	_, err = unix.IoctlRetInt(int(f.Fd()), unix.LOOP_CTL_GET_FREE)
	return err
}
