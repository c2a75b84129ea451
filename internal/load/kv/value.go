package kv

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// A value is made of 64 printable characters, '0' to 'o', so that people can
// look at it with any client; each carries 6 random bits, so that a store can
// compress it by no more than a quarter. The first 8 characters are the
// version: 0 when it is loaded or inserted, and another number with each
// update. The rest follows from record, field and version. So every byte that
// is read can be verified, by whoever knows which record it asked for.
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
		return fmt.Errorf("field %d is not what was written (%.20q…)", field, value)
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
