// Package monitor reads what a node does while a task runs on it: processors,
// memory, disks, network, and how long threads had to wait for them.
//
//  1. [New] says what to watch; nothing is held open yet.
//  2. [Monitor.Start] opens the kernel's files and takes a first reading before
//     it returns, so before the task starts.
//  3. Every second, on a schedule that does not drift, all files are read at
//     once and make one row of a table. A reading that was missed stays
//     missing: nothing is interpolated.
//  4. After 8,000 rows every other one is dropped, and readings become half as
//     many.
//  5. [Recording.Stop] takes a last reading; [Recording.Series] gives columns,
//     with times since the task's start.
//
// The metrics, with their unit and source. Counters begin at 0 at the first
// reading, and their rate is what matters: of seconds a second, cpu.user has
// the rate of cores in use. Others are the state at the moment of the reading.
// What a kernel or a node does not have is missing.
//
//	cpu.user              s     counter  /proc/stat             processor time of programs, without guests
//	cpu.nice              s     counter  /proc/stat             the same at low priority
//	cpu.system            s     counter  /proc/stat             of the kernel, for programs
//	cpu.irq               s     counter  /proc/stat             of the kernel, in interrupts
//	cpu.softirq           s     counter  /proc/stat             of the kernel, in deferred interrupts: most of the network's
//	cpu.guest             s     counter  /proc/stat             of virtual machines that run on this one
//	cpu.steal             s     counter  /proc/stat             taken by the hypervisor while there was work to do
//	cpu.iowait            s     counter  /proc/stat             idle while a disk was waited for; the kernel calls it unreliable
//	cpu.idle              s     counter  /proc/stat             idle otherwise
//	cpu.cores             1     state    /proc/stat             processors that are online
//	sched.running         1     state    /proc/stat             threads that run or wait for a processor
//	sched.blocked         1     state    /proc/stat             threads that wait for a disk
//	sched.switches        1     counter  /proc/stat             context switches
//	sched.interrupts      1     counter  /proc/stat             interrupts
//	sched.forks           1     counter  /proc/stat             processes and threads made
//	memory.total          byte  state    /proc/meminfo          usable memory
//	memory.available      byte  state    /proc/meminfo          what programs can still get without swapping
//	memory.free           byte  state    /proc/meminfo          not in use
//	memory.cached         byte  state    /proc/meminfo          page cache, with buffers
//	memory.dirty          byte  state    /proc/meminfo          to be written
//	memory.writeback      byte  state    /proc/meminfo          being written
//	memory.swap_used      byte  state    /proc/meminfo          swapped out
//	memory.swap_in        byte  counter  /proc/vmstat           read from swap
//	memory.swap_out       byte  counter  /proc/vmstat           written to swap
//	memory.major_faults   1     counter  /proc/vmstat           page faults that waited for a disk
//	memory.oom_kills      1     counter  /proc/vmstat           processes killed for want of memory
//	disk.reads            1     counter  /proc/diskstats        reads completed
//	disk.writes           1     counter  /proc/diskstats        writes completed
//	disk.read_bytes       byte  counter  /proc/diskstats        read
//	disk.write_bytes      byte  counter  /proc/diskstats        written
//	disk.queue            s     counter  /proc/diskstats        time of all requests together; its rate is the mean number of them
//	disk.busy             s     counter  /proc/diskstats        time with at least one request
//	disk.inflight         1     state    /proc/diskstats        requests under way
//	disk.*.reads          1     counter  /proc/diskstats        reads completed
//	disk.*.writes         1     counter  /proc/diskstats        writes completed
//	disk.*.read_bytes     byte  counter  /proc/diskstats        read
//	disk.*.write_bytes    byte  counter  /proc/diskstats        written
//	disk.*.queue          s     counter  /proc/diskstats        time of all requests together; its rate is the mean number of them
//	disk.*.busy           s     counter  /proc/diskstats        time with at least one request
//	disk.*.inflight       1     state    /proc/diskstats        requests under way
//	volume.*.reads        1     counter  /proc/diskstats        reads completed
//	volume.*.writes       1     counter  /proc/diskstats        writes completed
//	volume.*.read_bytes   byte  counter  /proc/diskstats        read
//	volume.*.write_bytes  byte  counter  /proc/diskstats        written
//	volume.*.queue        s     counter  /proc/diskstats        time of all requests together; its rate is the mean number of them
//	volume.*.busy         s     counter  /proc/diskstats        time with at least one request
//	volume.*.inflight     1     state    /proc/diskstats        requests under way
//	net.rx_bytes          byte  counter  /proc/net/dev          received
//	net.tx_bytes          byte  counter  /proc/net/dev          sent
//	net.rx_packets        1     counter  /proc/net/dev          received
//	net.tx_packets        1     counter  /proc/net/dev          sent
//	net.rx_errors         1     counter  /proc/net/dev          bad packets received
//	net.tx_errors         1     counter  /proc/net/dev          packets that could not be sent
//	net.rx_drops          1     counter  /proc/net/dev          received packets thrown away
//	net.tx_drops          1     counter  /proc/net/dev          packets thrown away unsent
//	tcp.established       1     state    /proc/net/snmp         connections
//	tcp.segments_out      1     counter  /proc/net/snmp         segments sent, retransmissions apart
//	tcp.retransmits       1     counter  /proc/net/snmp         segments sent again
//	tcp.send_queue        byte  state    sock_diag(7)           handed to the kernel and not acknowledged by the other end (Send-Q)
//	tcp.receive_queue     byte  state    sock_diag(7)           received and not read by the program (Recv-Q)
//	psi.cpu_some          s     counter  /proc/pressure/cpu     time in which some thread waited for a processor
//	psi.memory_some       s     counter  /proc/pressure/memory  some thread waited for memory
//	psi.memory_full       s     counter  /proc/pressure/memory  all that were not idle did
//	psi.io_some           s     counter  /proc/pressure/io      some thread waited for a disk
//	psi.io_full           s     counter  /proc/pressure/io      all that were not idle did
//	cgroup.cpu            s     counter  cpu.stat, cpuacct.usage processor time of the node's own control group
//	cgroup.cpu_throttled  s     counter  cpu.stat               time in which its quota kept it from running
//	cgroup.memory         byte  state    memory.current, memory.usage_in_bytes memory of the group, page cache included
//
// Which part of the machine they are about:
//
//   - cpu, sched, memory, disk and psi are the whole machine's, also when the
//     node is a container or a host of a lab: what others do on the machine is
//     in them. The kinds of cpu add up to cores × time. That pressure on
//     processors was "full" is not defined for a whole machine.
//   - cgroup is the node's own: the control group that the agent, and so its
//     tasks, belong to, with all below it. It is there where that is not the
//     root group; version 1 and 2.
//   - net and tcp are those of the node's network namespace. net has the
//     interfaces by which packets enter and leave, each packet once: the
//     hardware, or in a namespace without hardware what connects it with
//     others; not loopback, bridges, bonds, tunnels. tcp has all connections,
//     those over loopback included.
//   - disk is the sum over whole disks: no partitions, nothing made of other
//     devices (RAID, LVM), no loop devices, no memory. With two to eight of
//     them each has its own series, too; busy and queue of the sum add up as
//     well, so the sum can be busy for more than a second a second.
//   - volume is a volume that the node offers to workloads, by its name in
//     [Config], whatever its device is: a loop device of a lab, a partition. A
//     device that several volumes or nodes share is in each of them whole.
//
// A reading takes 0.3 to 0.5 ms of processor time when it is repeated
// (BenchmarkReading), and 1 ms when it comes once a second and finds cold
// caches: 0.1 % of a core. The queues of sockets cost most where there are
// thousands, and are then read less often, such that they take no more than
// another 0.1 %.
package monitor
