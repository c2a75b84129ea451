// Package kv offers the load of key-value workloads to data stores: records of
// several fields under keys, which are read, updated and inserted in some mix,
// popular ones more often. The workloads are those of YCSB (Cooper, Silberstein,
// Tam, Ramakrishnan, Sears: Benchmarking Cloud Serving Systems with YCSB, SoCC
// 2010) and those of the paper on black-box throughput (Table I), which are
// made of the same parts.
//
// The way of a run:
//
//  1. A [Dataset] says how many records there are and what is in each of them.
//     Every byte follows from the record's number and the field's version, so
//     that whoever reads a record can tell whether it is right.
//  2. [Load] writes the records into a [Store] in batches over several
//     connections, counts them, and marks the data set as complete. A data set
//     that is there already is used again.
//  3. A [Workload] says which operations are done how often and which records
//     are popular: its [Distribution].
//  4. A [Target] hands out clients for a load.Driver. Each has a connection of
//     its own, a [Session], and draws its records with random numbers of its
//     own; they share only the counter of records inserted.
//
// Packages beside this one implement Store for one product each; package
// kvtest is the suite that all of them pass.
package kv
