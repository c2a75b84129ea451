package session

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/httpwire"
	"github.com/scalebench/scalebench/internal/site"
)

// Config is what users do, and where.
type Config struct {
	Site site.Site
	// URL is where the site is: the paths of its interactions are below its
	// path.
	URL    *url.URL
	Header http.Header
	// Users is how many there are, of all generators together.
	Users int
	// Chain is what they do, AuthorChain what a share of them do who are
	// authors; nil where AuthorShare is 0.
	Chain, AuthorChain *Chain
	AuthorShare        float64
	// Accounts is how many the site has; the first Authors of them are authors'.
	Accounts, Authors int
	Think             Think
	// MaxSteps ends a session after so many requests.
	MaxSteps int
	// ErrorText, unless it is empty, is on pages that say that something went
	// wrong, whatever their status.
	ErrorText string
	// RampUp is the time in which the users come, one after the other.
	RampUp time.Duration
	// From and To bound the time that is scored, from the start of the run; at End
	// the users leave.
	From, To, End time.Duration
	Seed          uint64
}

// Users are those of one loop; they are its load.Sessions.
type Users struct {
	config Config
	users  []user
	agenda load.Agenda
	finder site.Finder
	head   string // of a request, after its target
	base   string // of all paths, without a slash at its end
	tally  Tally
}

// user is one who visits the site.
type user struct {
	number int // among all users
	// Draws for what the user does are apart from those for the links and forms
	// that are chosen: what pages hold does not change where the user goes.
	does, picks rand.PCG
	chain       *Chain
	author      int // number among authors; -1: is none
	visit       visit
	history     []visit
	steps       int // of the session
}

// visit is a page that was asked for.
type visit struct {
	of   int    // the interaction
	at   string // the target
	wire []byte // the request
}

// Tally is what users did in the time that is scored.
type Tally struct {
	// Thought is the sum of the think times that were drawn, Thinks their
	// number.
	Thought time.Duration
	Thinks  int64
	// Sessions is how many ended, and Visits how many requests they had.
	Sessions, Visits int64
	// NoLink counts pages without a way to where their user wanted to go, by
	// interactions: from, to.
	NoLink map[[2]int]int64
	// Incomplete counts pages that were too long to be kept whole.
	Incomplete int64
	// Example is the first page without a way.
	Example error
}

// Streams of random numbers of one user, and those that decide who is an author.
const (
	streamDoes    = 0x1 << 60
	streamPicks   = 0x2 << 60
	streamAuthors = 0x3 << 60
)

// New makes the users of a share: every Of-th, from Index on.
func New(c Config, share load.Share) *Users {
	u := &Users{config: c, base: strings.TrimSuffix(c.URL.EscapedPath(), "/"), finder: site.Finder{Host: c.URL.Host}}
	u.tally.NoLink = make(map[[2]int]int64)
	u.head = head(c)
	for i := share.Index; i < c.Users; i += share.Of {
		u.users = append(u.users, user{number: i})
	}
	for i := range u.users {
		x := &u.users[i]
		x.does, x.picks = *rand.NewPCG(c.Seed, streamDoes|uint64(x.number)), *rand.NewPCG(c.Seed, streamPicks|uint64(x.number))
		x.chain, x.author = c.Chain, authorNumber(x.number, c.AuthorShare, c.Seed)
		if x.author >= 0 {
			x.chain = c.AuthorChain
		}
		u.home(x)
		u.agenda.Push(load.Appointment{At: Enters(c, x.number) + c.Think.Rest(x.doing()), User: i})
	}
	return u
}

// Enters is when a user comes to the site, from the start of the run.
func Enters(c Config, number int) time.Duration {
	return time.Duration(float64(c.RampUp) * float64(number) / float64(c.Users))
}

// authorNumber is the number of a user among the authors, from 0; -1: is none. Of
// each 1/share users one is an author, at random, so that authors are as frequent
// as they should be, and spread over generators.
func authorNumber(user int, share float64, seed uint64) int {
	if share <= 0 {
		return -1
	}
	if share >= 1 {
		return user
	}
	group := int(float64(user) * share)
	first := firstOf(group, share)
	rng := rand.New(rand.NewPCG(seed, streamAuthors|uint64(group))) //nolint:gosec // repeatable on purpose
	if first+rng.IntN(firstOf(group+1, share)-first) != user {
		return -1
	}
	return group
}

// firstOf is the first user of a group: the first i of which i times share is as
// much, as floats have it.
func firstOf(group int, share float64) int {
	const most = 1 << 40 // more users than there can be
	at := float64(group) / share
	if at > most {
		return most
	}
	i := int(at)
	for i > 0 && int(float64(i-1)*share) >= group {
		i--
	}
	for int(float64(i)*share) < group {
		i++
	}
	return i
}

func (x *user) doing() *rand.Rand   { return rand.New(&x.does) }  //nolint:gosec // repeatable on purpose
func (x *user) picking() *rand.Rand { return rand.New(&x.picks) } //nolint:gosec // repeatable on purpose

// Tally is what they did. The run is over.
func (u *Users) Tally() Tally { return u.tally }

// Peek implements load.Sessions.
func (u *Users) Peek() (time.Duration, bool) {
	if len(u.agenda) == 0 || u.agenda[0].At >= u.config.End {
		return 0, false
	}
	return u.agenda[0].At, true
}

// Take implements load.Sessions.
func (u *Users) Take() load.Turn {
	n := u.agenda.Pop().User
	v := &u.users[n].visit
	return load.Turn{User: n, Op: v.of, Wire: v.wire}
}

// Ended implements load.Sessions: the user decides what comes next, and thinks.
func (u *Users) Ended(n int, a load.Answer) (wrong error) {
	x := &u.users[n]
	if text := u.config.ErrorText; a.OK && text != "" && bytes.Contains(a.Page, []byte(text)) {
		wrong = fmt.Errorf("the page of %s holds %q", u.config.Site[x.visit.of].Name, text)
	}
	scored := a.Now >= u.config.From && a.Now < u.config.To
	if a.Incomplete && scored {
		u.tally.Incomplete++
	}
	u.goOn(x, a, a.OK && wrong == nil, scored)
	think := u.config.Think.Draw(x.doing())
	if scored {
		u.tally.Thought += think
		u.tally.Thinks++
	}
	u.agenda.Push(load.Appointment{At: a.Now + think, User: n})
	return wrong
}

// goOn decides what a user asks for next.
func (u *Users) goOn(x *user, a load.Answer, good, scored bool) {
	x.steps++
	next := x.chain.next(x.visit.of, x.doing())
	switch {
	case x.steps >= u.config.MaxSteps || good && next == end(u.config.Site):
		if scored {
			u.tally.Sessions++
			u.tally.Visits += int64(x.steps)
		}
		x.steps = 0
		u.home(x)
	case !good:
		u.home(x)
	case next == back(u.config.Site):
		u.goBack(x)
	default:
		u.follow(x, next, a.Page, scored)
	}
}

// home lets a user ask for the home page, as if the session began there.
func (u *Users) home(x *user) {
	x.history = x.history[:0]
	u.visit(x, 0, site.Request{Target: u.base + u.config.Site[0].Path})
}

// goBack asks for the page before again.
func (u *Users) goBack(x *user) {
	last := len(x.history) - 1
	if last < 0 {
		u.home(x)
		return
	}
	x.visit, x.history = x.history[last], x.history[:last]
	x.forgetWithoutWayBack()
}

// follow goes on to an interaction by what the page has.
func (u *Users) follow(x *user, to int, page []byte, scored bool) {
	i := &u.config.Site[to]
	r, ok := u.finder.Find(page, x.visit.at, u.base+i.Path, i.Fill, x.person(u.config), x.picking())
	switch {
	case ok:
	case i.Direct:
		r = site.Request{Target: u.base + i.Path}
	default:
		u.missing(x, to, scored)
		u.home(x)
		return
	}
	if !u.config.Site[x.visit.of].Write {
		x.history = append(x.history, x.visit)
	}
	u.visit(x, to, r)
}

// missing notes that a page has no way to where its user wants to go.
func (u *Users) missing(x *user, to int, scored bool) {
	from := x.visit.of
	if scored {
		u.tally.NoLink[[2]int{from, to}]++
	}
	if u.tally.Example == nil {
		u.tally.Example = fmt.Errorf("the page of %s, %s, has no link or form to %s (%s)",
			u.config.Site[from].Name, x.visit.at, u.config.Site[to].Name, u.base+u.config.Site[to].Path)
	}
}

// visit lets a user ask for a page.
func (u *Users) visit(x *user, of int, r site.Request) {
	x.visit = visit{of: of, at: r.Target, wire: u.wire(r)}
	x.forgetWithoutWayBack()
}

// forgetWithoutWayBack forgets the history where there is no way back.
func (x *user) forgetWithoutWayBack() {
	if !x.chain.hasBack(x.visit.of) {
		x.history = x.history[:0]
	}
}

// person is who fills forms.
func (x *user) person(c Config) site.User {
	account := 1
	switch others := c.Accounts - c.Authors; {
	case x.author >= 0 && c.Authors > 0:
		account += x.author % c.Authors
	case others > 0:
		account += c.Authors + x.number%others
	case c.Accounts > 0:
		account += x.number % c.Accounts
	}
	nickname, password := site.Account(account)
	return site.User{Nickname: nickname, Password: password, Name: "visitor" + strconv.Itoa(x.number)}
}

// head is what all requests have in common, after their targets.
func head(c Config) string {
	header := http.Header{"Accept": {"text/html,*/*"}}
	maps.Copy(header, c.Header)
	_, fields, _ := strings.Cut(string(httpwire.Request(load.Request{Header: header}, c.URL)), "\r\n")
	return " HTTP/1.1\r\n" + strings.TrimSuffix(fields, "\r\n")
}

// wire is a request as it goes over the connection.
func (u *Users) wire(r site.Request) []byte {
	var b bytes.Buffer
	if !r.Post {
		b.Grow(len("GET \r\n") + len(r.Target) + len(u.head))
		b.WriteString("GET " + r.Target + u.head + "\r\n")
		return b.Bytes()
	}
	b.WriteString("POST " + r.Target + u.head + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: " +
		strconv.Itoa(len(r.Body)) + "\r\n\r\n" + r.Body)
	return b.Bytes()
}
