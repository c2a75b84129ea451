package cli

import (
	"strings"
	"testing"
)

// TestCapacityFlags: a flag that can be of no effect is refused, and the
// message says what is allowed.
func TestCapacityFlags(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"--resolution 0", "from 0.001 to 0.5"},
		{"--resolution -0.1", "from 0.001 to 0.5"},
		{"--windows 0", "from 5 to 1000"},
		{"--windows -3", "from 5 to 1000"},
		{"--windows 2", "5"},
		{"--connections 0", "from 1 to 60000"},
		{"--connections -5", "from 1 to 60000"},
		{"--records -1", "a whole number of at least 1"},
		{"--generators 0", "--generators: 0 is too small; use a whole number from 1 to 256"},
		{"--generators 2 --agents all", "one of the two"},
		{"--fail-below 0", "above 0"},
		{"--fail-below -5", "must be a positive number, alone or with a unit: 2000 or 2kop/s"},
		{"--fail-below NaN", "must be a positive number"},
		{"--header Cookie", "must be 'Name: value', such as -H 'Cookie: a=1'"},
		{"--header Content-Length:3", "the driver writes the header Content-Length itself"},
		{"--header X:", "the header X has no value"},
		{"--header A=1 --header a:2", "the header a is given twice"},
		{"--method CONNECT", "--method: CONNECT opens a tunnel"},
		{"--method G@T", "--method: \"G@T\" is not a method"},
		{"--cacert /dev/null", "/dev/null is empty"},
		{"--fail-below 2000 --detach", "--detach does not wait"},
		{"--fail-below 2000 --max 1kop/s", "allow a larger load"},
		{"--http2", "https://"},
		{"--expect 999", "statuses"},
		{"--mix w1", "--mix: only applies to redis, postgres, mysql and cassandra targets"},
		{"--password-env X", "--password-env: only applies to redis"},
		{"--min 10 --max 5", "--min: 10 exceeds max 5"},
		{"--timeout 100ms", "set request_timeout (--timeout) above 100ms"},
		{"--start 5op/s --min 6", "--min: 6 exceeds start 5"},
		{"--max 5MB/s", "--max: 5MB/s is not a rate of requests"},
		{"--window 1.5s", "--window: 1.5s is not a whole number of seconds"},
		{"--generators 300", "--generators: 300 is too large"},
		{"--insecure", "--insecure: only applies to targets that begin with https:// or s3s://; leave it out"},
		{"--object-size 1KiB", "scalebench: --object-size: is only for targets that begin with s3:// or s3s://; leave it out"},
		{"--detach", "--detach needs a server"},
		{"--sla p90=150ms,p90=100ms", "p90 stands twice"},
		{"--sla p90=150ms,errors=0.1", "write errors=0.1% or errors=10%"},
		{"--mix zz", "--mix: unknown value \"zz\""},
	} {
		args := append([]string{"capacity", "http://127.0.0.1:1/", "--sla", "p90=100ms"}, strings.Fields(c.args)...)
		var out, said strings.Builder
		env := Env{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &said, Environ: []string{"HOME=" + t.TempDir()}}
		if code := Main(env); code != exitUsage || !strings.Contains(said.String(), c.says) {
			t.Errorf("%s: exit code %d, %q; want %d and %q", c.args, code, said.String(), exitUsage, c.says)
		}
	}
}
