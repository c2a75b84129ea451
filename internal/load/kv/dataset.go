package kv

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/scalebench/scalebench/internal/model"
)

// Dataset is the records that are there before a run.
type Dataset struct {
	// Records is how many there are; they are numbered from 0.
	Records int64
	Shape
}

// DefaultDataset is YCSB's: a thousand records of ten fields of 100 bytes.
func DefaultDataset() Dataset {
	return Dataset{Records: 1000, Shape: Shape{Fields: 10, FieldSize: 100}}
}

// Limits of a data set.
const (
	// maxRecords is where two hashed keys are likely to be equal: among 2^32
	// keys of 63 bits they are with a probability of two thirds. Below, Load
	// notices.
	maxRecords = 1 << 32
	// maxFields bounds the columns of a table, and the parameters of a
	// statement that inserts many rows.
	maxFields = 64
	// maxRecordSize bounds a message to a store, in bytes.
	maxRecordSize = 1 << 20
)

// Check refuses what cannot be loaded, with model.ErrUsage.
func (d Dataset) Check() error {
	switch {
	case d.Records < 1 || d.Records > maxRecords:
		return fmt.Errorf("%w: a data set must have 1 to %[3]d records, not %[2]d", model.ErrUsage, d.Records, int64(maxRecords))
	case d.Fields < 1 || d.Fields > maxFields:
		return fmt.Errorf("%w: records must have 1 to %[3]d fields, not %[2]d", model.ErrUsage, d.Fields, maxFields)
	case d.FieldSize < MinFieldSize || d.FieldSize > maxRecordSize/d.Fields:
		return fmt.Errorf("%w: fields of %d bytes; they must have %d to %d in records of %d fields",
			model.ErrUsage, d.FieldSize, MinFieldSize, maxRecordSize/d.Fields, d.Fields)
	}
	return nil
}

// String describes the data set completely: two that are described alike have
// the same records with the same content. "format" changes when the content of
// records, or how stores keep them, does.
func (d Dataset) String() string {
	return fmt.Sprintf("format=1 records=%d fields=%d fieldsize=%d keys=hashed", d.Records, d.Fields, d.FieldSize)
}

func (d Dataset) recordSize() int64 { return int64(d.Fields) * int64(d.FieldSize) }

// Key is what a record is stored under: "user" and the hash of its number, as
// YCSB does by default (CoreWorkload.buildKeyName), so that neighbours in number,
// and what was inserted last, are scattered over the store.
func (d Dataset) Key(record int64) string {
	key := make([]byte, 0, len("user")+19)
	return string(strconv.AppendUint(append(key, "user"...), fnv(record), 10))
}

// newRecord has room for the fields of a record.
func (d Dataset) newRecord() Record {
	all := make([]byte, d.recordSize())
	r := make(Record, d.Fields)
	for i := range r {
		r[i] = all[i*d.FieldSize : (i+1)*d.FieldSize : (i+1)*d.FieldSize]
	}
	return r
}

// Record is what a record holds when it was loaded or inserted, and not updated
// since.
func (d Dataset) Record(record int64) Record {
	r := d.newRecord()
	fillRecord(r, record)
	return r
}

func fillRecord(r Record, record int64) {
	for i, value := range r {
		fill(value, record, i, 0)
	}
}

// Verify says what is wrong with what was read of a record, if anything: it
// must be what was loaded, inserted, or written by an update.
func (d Dataset) Verify(record int64, r Record) error {
	return d.verify(record, r, make([]byte, d.FieldSize))
}

// verify uses scratch, which is as long as a field.
func (d Dataset) verify(record int64, r Record, scratch []byte) error {
	if len(r) != d.Fields {
		return fmt.Errorf("%d fields, not %d", len(r), d.Fields)
	}
	for field, value := range r {
		if err := verify(value, record, field, scratch); err != nil {
			return err
		}
	}
	return nil
}

// A value is made of 64 printable characters, '0' to 'o', so that people can
// look at it with any client; each carries 6 random bits, so that a store can
// compress it by no more than a quarter. The first 8 characters are the
// version: 0 when it is loaded or inserted, and another number with each
// update. The rest follows from record, field and version. So every byte that
// is read can be verified by a reader that knows which record it asked for.
const (
	versionDigits = 8
	versionBits   = 6 * versionDigits
	lowestDigit   = '0'

	// MinFieldSize is the smallest size of a field, in bytes: the version, and
	// enough to tell two records apart.
	MinFieldSize = 16
)

// fill writes the value of a field into value, which is as long as a field.
func fill(value []byte, record int64, field int, version uint64) {
	binary.LittleEndian.PutUint64(value, digits(version))
	state := mix(mix(uint64(record)) ^ uint64(field)<<versionBits ^ version)
	rest := value[versionDigits:]
	for len(rest) >= 8 {
		state += golden
		binary.LittleEndian.PutUint64(rest, printable(mix(state)))
		rest = rest[8:]
	}
	var last [8]byte
	binary.LittleEndian.PutUint64(last[:], printable(mix(state+golden)))
	copy(rest, last[:])
}

// verify says what is wrong with a value that was read, if anything. It uses
// scratch, which is as long as a field.
func verify(value []byte, record int64, field int, scratch []byte) error {
	if len(value) != len(scratch) {
		return fmt.Errorf("field %d has %d bytes, not %d", field, len(value), len(scratch))
	}
	version := number(binary.LittleEndian.Uint64(value))
	fill(scratch, record, field, version)
	if !bytes.Equal(value, scratch) {
		return fmt.Errorf("field %d differs from what was written (%.20q…)", field, value)
	}
	return nil
}

// digits are the bits of a version, six to a character.
func digits(version uint64) uint64 {
	var d uint64
	for i := range versionDigits {
		d |= (version >> (6 * i) & 0x3f) << (8 * i)
	}
	return d + everyByte*lowestDigit
}

// number is the inverse of digits. What digits cannot have made gives some
// version, with which the value does not agree.
func number(digits uint64) uint64 {
	digits -= everyByte * lowestDigit
	var version uint64
	for i := range versionDigits {
		version |= (digits >> (8 * i) & 0x3f) << (6 * i)
	}
	return version
}

const everyByte = 0x0101010101010101

// printable makes eight characters of 48 of the bits.
func printable(bits uint64) uint64 { return bits&(everyByte*0x3f) + everyByte*lowestDigit }

// golden is 2^64 divided by the golden ratio, the step of SplitMix64.
const golden = 0x9e3779b97f4a7c15

// mix is the output function of SplitMix64 (Steele, Lea, Flood: Fast Splittable
// Pseudorandom Number Generators, OOPSLA 2014), a bijection that scatters.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
