// Package disk measures block storage through fio 3, where it is installed
// (section 3.2 of the ScaleBench paper).
//
// The pipeline of one task:
//
//  1. parameters and preset become settings (disk.go, settings.go);
//  2. the volume, folder, file or device becomes a target, and what must not
//     be written to is refused (target.go, scratch.go, device_linux.go);
//  3. fio lays the target out in a run of its own, which is not timed
//     (arguments.go), because a write into a block that was never written
//     also writes metadata, and a read of it may not reach the disk at all;
//  4. fio does the work and prints its state as JSON twice a second, one
//     document after another; the documents are cut out of whatever else it
//     prints (output.go) and become progress counters (meter.go);
//  5. the last document becomes samples and histograms (result.go).
//
// fio's own clock places each reading in time: a document carries the bytes
// and the milliseconds since the end of the ramp, both taken at one moment,
// while the document itself may be printed much later, when a thread of fio
// was busy in a long system call.
package disk
