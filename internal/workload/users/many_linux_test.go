package users

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/session"
	"github.com/scalebench/scalebench/test/proof/parts"
	"github.com/scalebench/scalebench/test/siteserver"
)

// manyEnv makes the test binary the generator of TestManyUsers: the site that it visits,
// the file for what came of it, and its processor, with blanks between them.
const manyEnv = "USERS_TEST_MANY"

// figures are those of many users.
type figures struct {
	Law                            float64 // X(R+Z)/N
	Throughput                     float64 // per second
	Lag, Response, Response99      float64 // ms; lag and response of the last percent
	Cores, Busy                    float64
	Megabytes                      float64 // the most memory that the process had
	Due, Failed, NoLink, Unsettled float64
}

// What 10,000 users may come to. A hundredth of the requests sends 5 ms late at most;
// memory was 87 to 95 MB where it was measured.
const (
	manyUsers   = 10_000
	mostOffLaw  = .02
	mostLag     = 5   // ms
	mostMemory  = 150 // MB
	manySeconds = 60
)

// TestManyUsers: 10,000 users who think for 7 s, from a process with one processor: the
// law of closed loops holds, requests are sent in time, and memory is bounded.
func TestManyUsers(t *testing.T) {
	parts.Begin(t)
	if !proof {
		t.Skip("takes more than a minute; make ntier-proof-users runs it")
	}
	if task := os.Getenv(manyEnv); task != "" {
		visitMany(t, task)
		return
	}
	// A page has 20 kB, and three links to each that follows.
	url := serve(t, &siteserver.Server{Pad: 19_000})
	cpu := leaveOne(t)
	var wrong []string
	for range 3 { // another program may have had the processor
		f := generate(t, url, cpu)
		t.Logf("%d users: %+v", manyUsers, f)
		if wrong = f.wrong(); len(wrong) == 0 {
			return
		}
		t.Log("wrong: ", strings.Join(wrong, ", "))
	}
	t.Error(strings.Join(wrong, ", "))
}

// leaveOne lets this process leave its last processor to the generator, if it has
// several, until the end of the test.
func leaveOne(t *testing.T) (cpu int) {
	t.Helper()
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	for i := range 64 * len(all) {
		if all.IsSet(i) {
			cpu = i
		}
	}
	if all.Count() > 1 {
		others := all
		others.Clear(cpu)
		pin(t, os.Getpid(), &others)
		t.Cleanup(func() { pin(t, os.Getpid(), &all) })
	}
	return cpu
}

// wrong is what figures should not be.
func (f figures) wrong() (list []string) {
	for _, c := range []struct {
		ok   bool
		text string
	}{
		{f.Law > 1-mostOffLaw && f.Law < 1+mostOffLaw, fmt.Sprintf("X(R+Z)/N is %.4f, want 1 within %v", f.Law, mostOffLaw)},
		{f.Lag < mostLag, fmt.Sprintf("one request in a hundred is sent %.2f ms late or more, want less than %d", f.Lag, mostLag)},
		{f.Megabytes < mostMemory, fmt.Sprintf("the generator had %.0f MB, want less than %d", f.Megabytes, mostMemory)},
		{f.Due > 0 && f.Failed+f.NoLink+f.Unsettled == 0, fmt.Sprintf("of %.0f requests %.0f failed and %.0f were not sent or have no end, and %.0f pages lack a link", f.Due, f.Failed, f.Unsettled, f.NoLink)},
	} {
		if !c.ok {
			list = append(list, c.text)
		}
	}
	return list
}

// generate lets a process with one processor visit a site.
func generate(t *testing.T, url string, cpu int) (f figures) {
	t.Helper()
	report := filepath.Join(t.TempDir(), "figures")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestManyUsers$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d", manyEnv, url, report, cpu), "GOMAXPROCS=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the generator: %v\n%s", err, out)
	}
	text, err := os.ReadFile(report)
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// visitMany is the generator.
func visitMany(t *testing.T, task string) {
	t.Helper()
	var url, report string
	var cpu int
	if _, err := fmt.Sscan(task, &url, &report, &cpu); err != nil {
		t.Fatal(err)
	}
	pin(t, os.Getpid(), only(cpu))
	o := visit(t, params(url, manyUsers, 7, 10, manySeconds, 1), 0, 1)
	check(t, o)
	f := figures{
		Law: o.sample(session.MetricLaw, nil), Throughput: o.sample(session.MetricThroughput, nil),
		Lag: o.sample(session.MetricLag, nil), Response: o.sample(session.MetricResponse, nil), Response99: o.sample("response_p99", nil),
		Cores: o.sample(load.MetricCPU, nil), Busy: o.sample(load.MetricBusy, nil), Megabytes: resident(t),
		Due: o.sample(session.MetricDue, nil), Failed: o.sample(session.MetricErrors, nil), NoLink: o.sample(session.MetricNoLink, nil),
		Unsettled: o.sample(session.MetricDropped, nil) + o.sample(session.MetricUnfinished, nil),
	}
	text, err := json.Marshal(f)
	if err == nil {
		err = os.WriteFile(report, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
