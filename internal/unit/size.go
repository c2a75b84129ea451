package unit

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"
)

// Size is an amount of data in bytes that is text in files: "64KiB", "5.3MB".
// A size is never negative.
type Size int64

// The binary units, for defaults in code.
const (
	Byte Size = 1
	KiB       = 1024 * Byte
	MiB       = 1024 * KiB
	GiB       = 1024 * MiB
	TiB       = 1024 * GiB
)

// SizePattern is the form of a size as an ECMA 262 regular expression, for
// JSON Schema. It is exactly what ParseSize accepts, range apart.
const SizePattern = `^[0-9]+(\.[0-9]+)? ?(B|kB|MB|GB|TB|PB|EB|KiB|MiB|GiB|TiB|PiB|EiB)$`

// SizeAllowed says in words what ParseSize accepts.
const SizeAllowed = `a number with a unit B, kB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (powers of 1024), such as "64KiB" or "1.5GB"`

// sizeUnit is a unit of size and the number of bytes in it.
type sizeUnit struct {
	name  string
	bytes int64
}

// sizeUnits lists all units of size, ascending within binary and decimal.
var sizeUnits = []sizeUnit{
	{"B", 1},
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"PiB", 1 << 50}, {"EiB", 1 << 60},
	{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"PB", 1e15}, {"EB", 1e18},
}

var sizeRE = regexp.MustCompile(SizePattern)

// maxDigits bounds the length of a quantity. Every value that String prints is
// shorter; more only costs time.
const maxDigits = 400

// checkLength refuses a quantity with an absurd number of digits.
func checkLength(s string) error {
	if len(s) > maxDigits {
		return fmt.Errorf("a quantity of %d characters is too long", len(s))
	}
	return nil
}

// ParseSize reads a size. The result is exact: a fraction is allowed as long
// as it is a whole number of bytes. The error says what is allowed.
func ParseSize(s string) (Size, error) {
	if err := checkLength(s); err != nil {
		return 0, err
	}
	if !sizeRE.MatchString(s) {
		return 0, fmt.Errorf("%q is not a size: %s", s, sizeProblem(s))
	}
	number, name := splitUnit(s)
	bytes, _ := new(big.Rat).SetString(number) // the pattern guarantees a decimal number
	bytes.Mul(bytes, new(big.Rat).SetInt64(sizeUnitNamed(name).bytes))
	if !bytes.IsInt() {
		return 0, fmt.Errorf("%q is not a whole number of bytes", s)
	}
	if !bytes.Num().IsInt64() {
		return 0, fmt.Errorf("%q is too large: a size must be less than 8EiB", s)
	}
	return Size(bytes.Num().Int64()), nil
}

// splitUnit divides "1.5 GB" into "1.5" and "GB".
func splitUnit(s string) (number, name string) {
	i := strings.IndexFunc(s, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimPrefix(s[i:], " ")
}

// sizeUnitNamed returns the unit with this exact name, or the zero value.
func sizeUnitNamed(name string) sizeUnit {
	for _, u := range sizeUnits {
		if u.name == name {
			return u
		}
	}
	return sizeUnit{}
}

// sizeProblem explains a string that has not the form of a size.
func sizeProblem(s string) string {
	if strings.HasPrefix(s, "-") {
		return "it must not be negative; use " + SizeAllowed
	}
	m := numberUnitRE.FindStringSubmatch(s)
	if m == nil {
		return "use " + SizeAllowed
	}
	number, name := m[1], m[2]
	switch strings.ToLower(name) {
	case "":
		return "it has no unit; use " + SizeAllowed
	case "k", "kb", "m", "g", "t":
		binary := strings.ToUpper(name[:1])
		decimal := strings.Replace(binary, "K", "k", 1) // kilo alone is written small
		return fmt.Sprintf("%s can mean a power of 1000 or of 1024; write %s%sB or %s%siB",
			name, number, decimal, number, binary)
	}
	for _, u := range sizeUnits {
		if strings.EqualFold(u.name, name) {
			return fmt.Sprintf("did you mean %q? Use %s", number+u.name, SizeAllowed)
		}
	}
	return "use " + SizeAllowed
}

// String prints the size exactly, in the unit that needs the smallest whole
// number: 65536 is "64KiB", 5300000 is "5300kB". ParseSize reads it back.
func (s Size) String() string {
	if s == 0 {
		return "0B"
	}
	best := sizeUnits[0]
	for _, u := range sizeUnits[1:] {
		if int64(s)%u.bytes == 0 && u.bytes > best.bytes {
			best = u
		}
	}
	return fmt.Sprintf("%d%s", int64(s)/best.bytes, best.name)
}

// Bytes returns the size as a number of bytes.
func (s Size) Bytes() int64 { return int64(s) }

// MarshalText implements encoding.TextMarshaler; it makes the size a string in
// JSON.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Size) UnmarshalText(text []byte) error {
	v, err := ParseSize(string(text))
	if err != nil {
		return err
	}
	*s = v
	return nil
}
