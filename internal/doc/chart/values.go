package chart

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Values is a column of numbers. As JSON, which has no other numbers, NaN is
// null and infinities are the strings "+Inf" and "-Inf".
type Values []float64

// MarshalJSON implements json.Marshaler.
func (v Values) MarshalJSON() ([]byte, error) {
	if v == nil {
		return []byte("null"), nil
	}
	out := []byte{'['}
	for i, x := range v {
		if i > 0 {
			out = append(out, ',')
		}
		switch {
		case math.IsNaN(x):
			out = append(out, "null"...)
		case math.IsInf(x, 0):
			out = strconv.AppendQuote(out, fmt.Sprintf("%+v", x))
		default:
			out = strconv.AppendFloat(out, x, 'g', -1, 64)
		}
	}
	return append(out, ']'), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *Values) UnmarshalJSON(b []byte) error {
	var raw []any
	if err := json.Unmarshal(b, &raw); err != nil {
		return fmt.Errorf("decoding a column of a chart: %w", err)
	}
	*v = nil
	for _, x := range raw {
		switch x := x.(type) {
		case nil:
			*v = append(*v, math.NaN())
		case float64:
			*v = append(*v, x)
		case string:
			f, err := strconv.ParseFloat(x, 64)
			if err != nil {
				return fmt.Errorf("decoding a column of a chart: %w", err)
			}
			*v = append(*v, f)
		default:
			return fmt.Errorf("decoding a column of a chart: %v is not a number", x)
		}
	}
	return nil
}
