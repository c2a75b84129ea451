package experiment

import "testing"

func BenchmarkParse(b *testing.B) {
	reg := testKinds()
	for b.Loop() {
		if _, err := Parse("f.yaml", []byte(full), reg, nil); err != nil {
			b.Fatal(err)
		}
	}
}
