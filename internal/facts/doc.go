// Package facts finds out what a node is: the machine on which its numbers
// were measured.
//
// [Collect] asks, in this order,
//
//  1. the files of the kernel: processor, microcode, cgroup limits, memory,
//     disks, hypervisor;
//  2. the network interfaces, the default route's first;
//  3. the metadata service of the cloud, but only where the firmware says that
//     this is a cloud: no request leaves a machine that shows no sign of one.
//
// [NodeID] then chooses the name under which the node takes part.
//
// A fact that cannot be found out is left empty; it is never guessed. On
// systems without the kernel's files (macOS) only what the Go runtime knows
// is filled in.
package facts
