package kv

import (
	"fmt"
	"math"
	"strings"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// Workload is a mix of operations on records, some of which are more popular.
type Workload struct {
	Name string
	// About says what it stands for, in the words of its source.
	About string
	// How often each operation is done, relative to the others.
	Read, Update, Insert, ReadModifyWrite float64
	Distribution                          Distribution
}

// operation is one of the four kinds.
type operation int

// The operations, in the order in which they are shown.
const (
	// opRead reads all fields of a record, and verifies them.
	opRead operation = iota
	// opUpdate replaces one field of a record.
	opUpdate
	// opInsert writes a new record.
	opInsert
	// opReadModifyWrite reads a record and then replaces one of its fields.
	opReadModifyWrite
)

var operationNames = [...]string{"read", "update", "insert", "read-modify-write"}

// Presets returns the workloads that have a name:
//
//   - w1, w2, w3, w3b: Table I of the paper on black-box throughput, whose
//     zipfian distribution is YCSB's (section IV). A write is an update, for
//     only updates choose their record from a distribution. The table calls
//     the last two both "W3".
//   - a, b, c, d, f: the core workloads of YCSB (workloads/workloada and
//     following, version 0.17). Workload e scans ranges, which not every
//     store here can do.
func Presets() []Workload {
	return []Workload{
		{Name: "w1", About: "write only: devices that keep sending data", Update: 100, Distribution: Uniform},
		{Name: "w2", About: "read only: a cache of user profiles", Read: 100, Distribution: Zipfian},
		{Name: "w3", About: "read mostly: photo tagging", Read: 95, Update: 5, Distribution: Zipfian},
		{Name: "w3b", About: "half reads, half writes: recent actions in a session", Read: 50, Update: 50, Distribution: Zipfian},
		{Name: "a", About: "YCSB A, update heavy: recent actions in a session", Read: 50, Update: 50, Distribution: Zipfian},
		{Name: "b", About: "YCSB B, read mostly: photo tagging", Read: 95, Update: 5, Distribution: Zipfian},
		{Name: "c", About: "YCSB C, read only: a cache of user profiles", Read: 100, Distribution: Zipfian},
		{Name: "d", About: "YCSB D, read latest: status updates", Read: 95, Insert: 5, Distribution: Latest},
		{Name: "f", About: "YCSB F, read-modify-write: records that users read and change", Read: 50, ReadModifyWrite: 50, Distribution: Zipfian},
	}
}

// Preset returns the workload of that name, in capitals or not. The error is
// model.ErrUsage and lists the names.
func Preset(name string) (Workload, error) {
	var names []string
	for _, w := range Presets() {
		if strings.EqualFold(w.Name, name) {
			return w, nil
		}
		names = append(names, w.Name)
	}
	return Workload{}, fmt.Errorf("%w: no workload is called %q; there are %s", model.ErrUsage, name, strings.Join(names, ", "))
}

// Check refuses what cannot be done, with model.ErrUsage.
func (w Workload) Check() error {
	sum := 0.0
	for i, weight := range w.weights() {
		if !(weight >= 0) || math.IsInf(weight, 0) {
			return fmt.Errorf("%w: a weight of %v for %s in workload %s; weights are 0 or more", model.ErrUsage, weight, operationNames[i], w.Name)
		}
		sum += weight
	}
	if sum == 0 {
		return fmt.Errorf("%w: workload %s does nothing; give one of read, update, insert, read-modify-write a weight", model.ErrUsage, w.Name)
	}
	return w.Distribution.Check()
}

// weights are in the order of the operations.
func (w Workload) weights() [len(operationNames)]float64 {
	return [...]float64{w.Read, w.Update, w.Insert, w.ReadModifyWrite}
}

// mix lists the operations that are ever done.
func (w Workload) mix() (ops []operation, weights []load.Weight) {
	for i, weight := range w.weights() {
		if weight > 0 {
			ops = append(ops, operation(i))
			weights = append(weights, load.Weight{Name: operationNames[i], Weight: weight})
		}
	}
	return ops, weights
}
