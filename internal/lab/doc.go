// Package lab makes real hosts on one machine, with limits that are set and
// therefore known, so that what scalebench measures can be compared with
// arithmetic.
//
// A host is a network namespace and a set of cgroups. Its way from the
// experiment file to the process that runs on it:
//
//  1. [Spec] says what is wanted. [Spec.Validate] refuses what cannot be.
//  2. [Spec.Hosts] names the hosts and gives them addresses: pure, so that a
//     plan can be made without building anything.
//  3. [Check] says whether this process may build labs.
//  4. [Up] writes a [Manifest] of all that it is going to make, and then makes
//     it: namespaces, links and their rates, cgroups, volumes, services.
//  5. [Lab.Start] runs a process on a host.
//  6. [Lab.Down] removes everything. Where no process is left to call it,
//     [Sweep] does, from the manifest, or, after the machine has restarted,
//     from its copy in the lab's directory; [Remove] is what both use.
//
// # Network
//
// One more namespace is the switch. It holds a bridge, core, and one more for
// each group that shares an uplink:
//
//	host eth0 ═ port ─ bridge of the group ─ up ═ down ─ core ─ port ═ eth0 service
//
// A double line is a veth pair. Both of its ends are shaped by a token bucket
// to the rate of the link or uplink, so each direction has the rate for
// itself. A rate is that of Ethernet frames: of it, TCP with a 1500-byte MTU
// carries 1448/1514 = 95.6 % as payload, as on a real link. Nothing is made in
// the machine's own network namespace, so no address, route or firewall of
// the machine matters, or is touched.
//
// # What stays
//
// One thing is not undone. With cgroup v2, groups can have limits only of what
// the group above them has switched on in cgroup.subtree_control, and that
// group is not the lab's. Where cpu, memory or io is missing there, [Up] adds
// it, says so in the log, and it stays on: switched off, it would take away
// without a word whatever limits others have set in their groups since. With
// v1 nothing like it is needed. [Check] changes nothing.
//
// # CPU, memory and volumes
//
// Cores and memory are limited by a cgroup for each host, v1 or v2. Rates of
// volumes are limited by one group for the whole lab, because nodes that share
// a volume share its limits. With cgroup v1 that covers what processes write
// themselves (direct, synchronous, fsync); pages that the kernel writes back
// later belong to no group there and are not limited. With v2 they are. The
// kernel counts a flush as an operation, so a write that must be on disk at
// once (O_SYNC, O_DSYNC) counts as two.
package lab
