package session

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/site"
	"github.com/scalebench/scalebench/test/proof/parts"
	"github.com/scalebench/scalebench/test/siteserver"
)

// proof is set for the long forms.
var proof = os.Getenv("NTIER_PROOF") != ""

// board is a configuration of users of a mix.
func board(t testing.TB, mix string, users int) Config {
	t.Helper()
	c := Config{
		Site: site.Board(), URL: &url.URL{Scheme: "http", Host: "h:80"}, Users: users, MaxSteps: 1000, Accounts: 1000, Authors: 50,
		Think: Think{Distribution: Exponential, Mean: time.Second}, To: math.MaxInt64, End: math.MaxInt64, Seed: 3,
	}
	c.Chain = chainOf(t, mix)
	return c
}

func chainOf(t testing.TB, mix string) *Chain {
	t.Helper()
	c, err := Mix(mix, site.Board())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func twoPages() site.Site {
	return site.Site{{Name: "home", Path: "/home", Direct: true, Links: []string{"a"}}, {Name: "a", Path: "/a", Links: []string{"a"}}}
}

// visitor visits pages in memory until so many sessions of each user have ended:
// of all that end in some time too many would be short.
type visitor struct {
	users    *Users
	server   *siteserver.Server
	sessions [][]float64 // visits of each that ended
	now      time.Duration
}

func (v *visitor) visit(t testing.TB, each int) {
	t.Helper()
	pages := make([][]byte, len(v.server.Site))
	for i := range pages {
		pages[i] = v.server.Page(i)
	}
	visits, ended := make([][]float64, len(v.users.users)), make([]int, len(v.users.users))
	for len(v.sessions) < each*len(ended) {
		due, ok := v.users.Peek()
		if !ok || due < v.now {
			t.Fatalf("after %v the next request is due at %v, %v", v.now, due, ok)
		}
		v.now = due
		turn := v.users.Take()
		if visits[turn.User] == nil {
			visits[turn.User] = make([]float64, len(pages))
		}
		visits[turn.User][turn.Op]++
		if err := v.users.Ended(turn.User, load.Answer{Now: due, OK: true, Page: pages[turn.Op]}); err != nil {
			t.Fatal(err)
		}
		if n := turn.User; v.users.users[n].steps == 0 {
			if ended[n]++; ended[n] <= each {
				v.sessions = append(v.sessions, visits[n])
			}
			visits[n] = nil
		}
	}
}

// TestStationary: users ask for each interaction as often as the chain says that
// they do, and would not pass for users of a chain that differs a little.
func TestStationary(t *testing.T) {
	parts.Begin(t)
	each := 20
	if proof {
		each = 1000
	}
	for _, mix := range Mixes() {
		c := board(t, mix, 200)
		v := &visitor{users: New(c, load.All), server: &siteserver.Server{Site: c.Site}}
		v.visit(t, each)
		if n := len(v.users.Tally().NoLink); n > 0 {
			t.Fatalf("%s: %v", mix, v.users.Tally().Example)
		}
		reached := places(c.Chain)
		if n := hotelling(columns(v.sessions, reached), columns([][]float64{expectedVisits(c.Chain)}, reached)[0]); n > chiSquared(len(reached)) {
			t.Errorf("%s: χ² = %.1f with %d degrees of freedom", mix, n, len(reached))
		}
		other := *c.Chain
		other.rows = slices.Clone(c.Chain.rows)
		at := c.Site.Index("ViewStory")
		other.rows[at] = slices.Clone(other.rows[at])
		from, to := c.Site.Index("ViewComment"), 0
		other.rows[at][from] -= .05
		other.rows[at][to] += .05
		if n := hotelling(columns(v.sessions, reached), columns([][]float64{expectedVisits(&other)}, reached)[0]); n < chiSquared(len(reached)) {
			t.Errorf("%s: χ² = %.1f against another chain", mix, n)
		}
		length, truth := 0.0, sum(expectedVisits(c.Chain))
		for _, s := range v.sessions {
			length += sum(s) / float64(len(v.sessions))
		}
		t.Logf("%s: %d sessions, of %.2f requests; by the chain %.2f", mix, len(v.sessions), length, truth)
	}
}

// places are those that a session can come to.
func places(c *Chain) (out []int) {
	for i, yes := range c.reached() {
		if yes {
			out = append(out, i)
		}
	}
	return out
}

func columns(rows [][]float64, of []int) [][]float64 {
	var out [][]float64
	for _, row := range rows {
		var x []float64
		for _, i := range of {
			x = append(x, row[i])
		}
		out = append(out, x)
	}
	return out
}

func sum(x []float64) (s float64) {
	for _, v := range x {
		s += v
	}
	return s
}

// TestShare: user i does the same whatever the number of generators and loops,
// and each user is in one of them.
func TestShare(t *testing.T) {
	c := board(t, ReadWrite, 60)
	c.AuthorChain, c.AuthorShare, c.RampUp = chainOf(t, Author), .1, time.Minute
	whole := firstRequests(t, c, []load.Share{load.All})
	for _, shares := range [][]load.Share{
		{{Index: 0, Of: 2}, {Index: 1, Of: 2}},
		{{Index: 0, Of: 3}, load.Share{Index: 1, Of: 3}.Split(0, 2), load.Share{Index: 1, Of: 3}.Split(1, 2), {Index: 2, Of: 3}},
	} {
		if diff := cmp.Diff(whole, firstRequests(t, c, shares)); diff != "" {
			t.Errorf("with %d parts (-whole +parts):\n%s", len(shares), diff)
		}
	}
	c.Seed++
	if cmp.Equal(whole, firstRequests(t, c, []load.Share{load.All})) {
		t.Error("another seed makes the same users")
	}
}

// firstRequests are those of each user in 80 s, with their times. Answers take as
// long for each.
func firstRequests(t *testing.T, c Config, shares []load.Share) map[int][]string {
	t.Helper()
	out := make(map[int][]string)
	server := &siteserver.Server{Site: c.Site}
	for _, share := range shares {
		u := New(c, share)
		for due, _ := u.Peek(); due < 80*time.Second; due, _ = u.Peek() {
			turn := u.Take()
			number := u.users[turn.User].number
			out[number] = append(out[number], fmt.Sprintf("%v %s", due, turn.Wire))
			if err := u.Ended(turn.User, load.Answer{Now: due + 10*time.Millisecond, OK: true, Page: server.Page(turn.Op)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return out
}

// TestAuthors: of each ten users one is an author, spread over generators.
func TestAuthors(t *testing.T) {
	for _, share := range []float64{.1, .25, .03, 1. / 3, .5} {
		const users = 3000
		count, parts, last := 0, [10]int{}, -1
		for i := range users {
			n := authorNumber(i, share, 5)
			if n < 0 {
				continue
			}
			if n != last+1 {
				t.Errorf("share %v: after author %d comes %d", share, last, n)
			}
			last = n
			count++
			parts[i%10]++
		}
		if want := share * users; math.Abs(float64(count)-want) > 1 {
			t.Errorf("share %v: %d of %d users are authors, want %.0f", share, count, users, want)
		}
		for part, n := range parts {
			if mean := share * users / 10; math.Abs(float64(n)-mean) > 5*math.Sqrt(mean) {
				t.Errorf("share %v: generator %d of 10 has %d authors, want some %.0f", share, part, n, mean)
			}
		}
	}
	if authorNumber(7, 0, 1) != -1 || authorNumber(7, 1, 1) != 7 {
		t.Error("none, or all, are authors otherwise")
	}
}

// TestBack: going back asks for the page before again, with its form; not for one
// that wrote something, and not beyond the home page.
func TestBack(t *testing.T) {
	s := site.Site{
		{Name: "home", Path: "/home", Direct: true},
		{Name: "find", Path: "/find", Fill: map[string]string{"q": "words 1"}},
		{Name: "read", Path: "/read"}, {Name: "store", Path: "/store", Write: true},
	}
	const home, find, read, store, back = 0, 1, 2, 3, 4
	c := board(t, BrowseOnly, 1)
	c.Site = s
	page := []byte(`<form action=/find method=post><input name=q></form><a href=/read?id=1></a><form action=/store method=post></form>`)
	script := []int{find, read, read, back, back, store, read, back, find, back, back}
	want := []int{home, find, read, read, read, find, store, read, find, find, find, home}
	// A chain for each step, which leaves no choice.
	chain := func(next int) *Chain {
		rows := make([][]float64, len(s))
		for i := range rows {
			rows[i] = make([]float64, len(s)+2)
			rows[i][next] = 1
		}
		rows[0][back] = 0 // the history ends at home
		rows[0][next] += 1e-9
		made, err := newChain(s, rows)
		if err != nil {
			t.Fatal(err)
		}
		for i := range made.rows { // pages other than home have a way back
			made.rows[i][back] = map[bool]float64{true: 0, false: .5}[i == home]
		}
		return made
	}
	c.Chain = chain(find)
	u := New(c, load.All)
	var got []int
	var wires [][]byte
	for i := range want {
		due, _ := u.Peek()
		turn := u.Take()
		got, wires = append(got, turn.Op), append(wires, turn.Wire)
		if i < len(script) {
			u.users[0].chain = chain(script[i])
		}
		if err := u.Ended(0, load.Answer{Now: due, OK: true, Page: page}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("interactions (-want +got):\n%s", diff)
	}
	if !bytes.Equal(wires[1], wires[5]) || !bytes.HasPrefix(wires[5], []byte("POST /find HTTP/1.1\r\nHost: h:80\r\n")) {
		t.Errorf("back to a form: %q, first it was %q", wires[5], wires[1])
	}
}

// TestErrors: after an error, and where a page has no way on, users go home; both
// are counted.
func TestErrors(t *testing.T) {
	c := board(t, BrowseOnly, 50)
	c.ErrorText, c.To = "failed: ", time.Hour
	u := New(c, load.All)
	server := &siteserver.Server{Site: c.Site, Missing: map[[2]string]bool{{"ViewStory", "ViewComment"}: true}}
	wrong, homes := 0, 0
	for i := range 2000 {
		due, _ := u.Peek()
		turn := u.Take()
		a := load.Answer{Now: due, OK: i%10 != 0, Page: server.Page(turn.Op)}
		if bad := i%10 == 1; bad {
			a.Page = append(a.Page, "the query failed: no such table"...)
		}
		if err := u.Ended(turn.User, a); err != nil {
			wrong++
		}
		if at := u.users[turn.User].visit.of; i%10 < 2 {
			if at != 0 {
				t.Fatalf("after an error user %d goes to %s", turn.User, c.Site[at].Name)
			}
			homes++
		}
	}
	pair := [2]int{c.Site.Index("ViewStory"), c.Site.Index("ViewComment")}
	tally := u.Tally()
	if wrong != 200 || len(tally.NoLink) != 1 || tally.NoLink[pair] < 50 || tally.Example == nil ||
		!strings.Contains(tally.Example.Error(), "has no link or form to ViewComment") {
		t.Errorf("%d pages were wrong, want 200; %+v, want some that lack the link to comments", wrong, tally)
	}
}

// TestMaxSteps: a session ends when it is too long.
func TestMaxSteps(t *testing.T) {
	c := board(t, BrowseOnly, 10)
	c.MaxSteps = 5
	v := &visitor{users: New(c, load.All), server: &siteserver.Server{Site: c.Site}}
	v.visit(t, 100)
	longest, cut := 0.0, 0
	for _, s := range v.sessions {
		if longest = max(longest, sum(s)); sum(s) == 5 {
			cut++
		}
	}
	if longest != 5 || cut < 100 {
		t.Errorf("the longest session has %v requests, %d have 5", longest, cut)
	}
}

// TestWire: requests are as HTTP/1.1 wants them, below the path of the site.
func TestWire(t *testing.T) {
	c := board(t, BrowseOnly, 1)
	c.URL = &url.URL{Scheme: "http", Host: "h:8080", Path: "/app/"}
	c.Header = http.Header{"X-Test": {"1"}, "User-Agent": {"mine"}}
	u := New(c, load.All)
	const head = " HTTP/1.1\r\nHost: h:8080\r\nAccept: text/html,*/*\r\nUser-Agent: mine\r\nX-Test: 1\r\n"
	if got, want := string(u.Take().Wire), "GET /app/StoriesOfTheDay"+head+"\r\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	got := string(u.wire(site.Request{Target: "/app/x", Post: true, Body: "a=b"}))
	if want := "POST /app/x" + head + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\n\r\na=b"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestMixes: rows of our own mixes sum to a thousand, go where pages lead, and
// reach the shares of interactions that they are made for.
func TestMixes(t *testing.T) {
	parts.Begin(t)
	s := site.Board()
	for mix, rows := range map[string]map[string]ways{BrowseOnly: rowsOf(BrowseOnly), ReadWrite: rowsOf(ReadWrite),
		Author: rowsOf(Author)} {
		for from, row := range rows {
			total := 0
			for to, w := range row {
				total += w
				i := s.Index(to)
				if to == "Back" || to == "End" || i >= 0 && s[i].Direct || slices.Contains(s[s.Index(from)].Links, to) {
					continue
				}
				t.Errorf("%s goes from %s to %s, and the page does not", mix, from, to)
			}
			if total != 1000 {
				t.Errorf("%s: the row of %s sums to %d", mix, from, total)
			}
			if i := s.Index(from); s[i].Write && row["Back"] > 0 {
				t.Errorf("%s goes back from %s, which writes", mix, from)
			}
		}
		c := chainOf(t, mix)
		visits := expectedVisits(c)
		length, writes := sum(visits), 0.0
		shares := make(map[string]float64)
		for i, v := range visits {
			shares[s[i].Name] = v / length
			if s[i].Write {
				writes += v / length
			}
		}
		for _, name := range slices.Sorted(maps.Keys(shares)) {
			t.Logf("%s: %-24s %5.1f %%", mix, name, 100*shares[name])
		}
		t.Logf("%s: %.1f requests a session, %.1f %% writes, %d of %d interactions", mix, length, 100*writes, len(places(c)),
			len(s))
		want := map[string][3]float64{BrowseOnly: {11.9, 0, 11}, ReadWrite: {14.1, .12, 19}, Author: {15.7, .15, 24}}[mix]
		if math.Abs(length-want[0]) > 1 || math.Abs(writes-want[1]) > .01 || float64(len(places(c))) != want[2] {
			t.Errorf("%s: %.1f requests a session, %.3f of them write, %d interactions; want %v", mix, length, writes,
				len(places(c)), want)
		}
		for _, name := range []string{"ViewStory", "ViewComment"} {
			if mix == BrowseOnly && math.Abs(shares[name]-.265) > .03 {
				t.Errorf("%s: %s has %.3f of the requests, want about a quarter", mix, name, shares[name])
			}
		}
	}
}
