package ntier

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

var fourTiers = []string{"web", "app", "sql", "data"}

func TestNotation(t *testing.T) {
	for text, want := range map[string]Configuration{
		"1-2-2-4-em":           {Counts: []int{1, 2, 2, 4}, Platform: "em"},
		"1-2-2-2-ec2-large":    {Counts: []int{1, 2, 2, 2}, Platform: "ec2", Type: "large"},
		"1-4-16-16-oc":         {Counts: []int{1, 4, 16, 16}, Platform: "oc"},
		"1-2-2+2-cluster":      {Counts: []int{1, 2, 2, 2}, Joined: []bool{false, false, false, true}, Platform: "cluster"},
		"1+1-2+3":              {Counts: []int{1, 1, 2, 3}, Joined: []bool{false, true, false, true}},
		"1-1-1-1":              {Counts: []int{1, 1, 1, 1}},
		"1-1-1-10000":          {Counts: []int{1, 1, 1, 10000}},
		"1-1-1-2(galera)":      {Counts: []int{1, 1, 1, 2}, Variant: "galera"},
		"1-1-2+2(x)-ec2-large": {Counts: []int{1, 1, 2, 2}, Joined: []bool{false, false, false, true}, Variant: "x", Platform: "ec2", Type: "large"},
		"1-2-1-2-aws-m5.large": {Counts: []int{1, 2, 1, 2}, Platform: "aws", Type: "m5.large"},
	} {
		got, err := ParseConfiguration(text, fourTiers)
		if diff := cmp.Diff(want, got); err != nil || diff != "" || got.String() != text {
			t.Errorf("%s: %v, printed %s (-want +got):\n%s", text, err, got, diff)
		}
	}
	for text, want := range map[string]string{"1-1-1-10001": "a tier of more than 10,000 hosts; ", "1-1-1-123456": "a tier of more than 10,000 hosts; ", "1-1-1-99999999999999999999": "a tier of more than 10,000 hosts; ", "1-1-1-1-EC2": "in small letters"} {
		if c, err := ParseConfiguration(text, fourTiers); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %q", text, c, err, want)
		}
	}
	for _, text := range []string{"", "1-2-2", "1-2-2-4-4-em", "1-2-0-4", "1-2-2-4-", "1-2-2-4-em-", "web", "1-2-2-4-em-large-x", "1-2-2-99999999999", "1-2-2+-2", "+1-2-2-2", "1-1-1-1()", "1-1-1-1-em(x)", "1-1-1-1(X)", "1-1-1-1 (x)", "1-2-2-2+"} {
		if c, err := ParseConfiguration(text, fourTiers); !errors.Is(err, model.ErrUsage) {
			t.Errorf("%q: %+v, %v, want an error of usage", text, c, err)
		}
	}
}

// TestHosts: machines count once, whoever shares them.
func TestHosts(t *testing.T) {
	for text, want := range map[string]int{"1-2-2-4": 9, "1-2-2+2": 5, "1+2+2+2": 2, "1+1-2+3": 4, "1-1+1+2": 3} {
		if c, err := ParseConfiguration(text, fourTiers); err != nil || c.Hosts() != want {
			t.Errorf("%s: %d hosts, %v, want %d", text, c.Hosts(), err, want)
		}
	}
}

// FuzzNotation: what is read is printed as it was, but for zeros in front.
func FuzzNotation(f *testing.F) {
	f.Add("1-2-2-4-em")
	f.Add("1-02+2+4")
	f.Add("01-2-2-4-ec2-large")
	f.Add("1-2-2-4(galera)-ec2-large")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseConfiguration(text, fourTiers)
		if err != nil {
			return
		}
		again, err := ParseConfiguration(c.String(), fourTiers)
		if err != nil || !cmp.Equal(c, again) {
			t.Errorf("%q is %+v, and %q is %+v, %v", text, c, c.String(), again, err)
		}
	})
}
