package environ

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPick(t *testing.T) {
	all := []string{
		"PATH=/bin", "LC_ALL=C", "LC_TIME=", "LCX=1", "AWS_SECRET_ACCESS_KEY=s", "AWS_REGION=r", "XAWS_REGION=x",
		"SCALEBENCH_TOKEN=t", "TOKEN=a=b", "HTTPS_PROXY=http://proxy:3128", "http_proxy=http://user:word@proxy", "PATH=/usr/bin", "=odd", "odd",
	}
	base := []string{"PATH=/bin", "LC_ALL=C", "LC_TIME=", "HTTPS_PROXY=http://proxy:3128", "PATH=/usr/bin"}
	for _, tt := range []struct {
		name            string
		names, patterns []string
		want            []string
	}{
		{"nothing named", nil, nil, base},
		{"one name", []string{"TOKEN"}, nil, []string{"PATH=/bin", "LC_ALL=C", "LC_TIME=", "TOKEN=a=b", "HTTPS_PROXY=http://proxy:3128", "PATH=/usr/bin"}},
		{"a pattern", nil, []string{"AWS_*"}, []string{"PATH=/bin", "LC_ALL=C", "LC_TIME=", "AWS_SECRET_ACCESS_KEY=s", "AWS_REGION=r", "HTTPS_PROXY=http://proxy:3128", "PATH=/usr/bin"}},
		{"a proxy with a password", nil, Proxies(), []string{"PATH=/bin", "LC_ALL=C", "LC_TIME=", "HTTPS_PROXY=http://proxy:3128", "http_proxy=http://user:word@proxy", "PATH=/usr/bin"}},
		{"a name that is no pattern", []string{"*", "AWS_*"}, nil, base},
		{"what is scalebench's own", []string{"SCALEBENCH_TOKEN"}, []string{"SCALEBENCH_*"}, base},
	} {
		if diff := cmp.Diff(tt.want, Pick(all, tt.names, tt.patterns)); diff != "" {
			t.Errorf("%s: Pick (-want +got):\n%s", tt.name, diff)
		}
	}
	if diff := cmp.Diff([]string{"AWS", "SCALEBENCH_TOKEN"}, Missing(all, []string{"AWS", "TOKEN", "SCALEBENCH_TOKEN", "LC_TIME"})); diff != "" {
		t.Errorf("Missing (-want +got):\n%s", diff)
	}
}

func TestCheck(t *testing.T) {
	for names, want := range map[[2]string]string{
		{"A", "_b1"}:              "",
		{"A", "A"}:                "A appears twice",
		{"A", ""}:                 `"" cannot name a variable`,
		{"A=b", "A"}:              `"A=b" cannot name a variable`,
		{"AWS_*", "A"}:            `"AWS_*" cannot name a variable`,
		{"SCALEBENCH_TOKEN", "A"}: "SCALEBENCH_TOKEN configures scalebench itself and is not passed on",
	} {
		if got, _ := Check(names[:]); got != want {
			t.Errorf("Check(%q) = %q, want %q", names, got, want)
		}
	}
}
