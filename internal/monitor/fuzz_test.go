package monitor

import (
	"math"
	"testing"
)

// FuzzFiles: no text makes a parser panic or emit a NaN, infinity or negative value.
func FuzzFiles(f *testing.F) {
	for _, tt := range kernelCases {
		f.Add(tt.text)
	}
	f.Add("   8       0 sda 15 0 108 9 22 0 216 9 3 1500 4500 1 2 3\n")
	f.Fuzz(func(t *testing.T, text string) {
		parsers := map[string]func([]byte, emit){"disks": newDisks("/nowhere", []volume{{volume: "v", major: 8}}).parse}
		for _, tt := range kernelCases {
			parsers[tt.name] = tt.parse
		}
		for name, parse := range parsers {
			for range 2 {
				parse([]byte(text), func(metric string, v float64) {
					if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
						t.Errorf("%s emits %s = %v", name, metric, v)
					}
				})
			}
		}
	})
}
