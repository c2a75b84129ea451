// Package users is the workload of users who visit a site: a closed loop of
// sessions, as in experiments with n tiers. What users do is package
// load/session, what sends it load/http1.
//
// A task has three stages. In ramp_up the users come, one after the other; the
// run is scored; in ramp_down they go on, while what is under way ends. What has
// not ended then is counted as unfinished. All nodes of a step share the users:
// user i visits from node i mod n.
package users

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/session"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/site"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// Params are the parameters of the workload.
type Params struct {
	URL       string             `json:"url" jsonschema:"required,minLength=1" jsonschema_description:"Where the site is: http://host:port, or with a path that all its pages are below."`
	Site      []site.Interaction `json:"site,omitempty" jsonschema:"maxItems=200" jsonschema_description:"Interactions of the site, the home page first. Default: the 24 of the built-in board, which are those of RUBBoS."`
	Headers   map[string]string  `json:"headers,omitempty" jsonschema_description:"Headers of every request, stored with the run."`
	ErrorText string             `json:"error_text,omitempty" jsonschema:"maxLength=1000" jsonschema_description:"Text that only pages of errors hold: a page with it is a failure, whatever its status."`

	Mix               string   `json:"mix,omitempty" jsonschema:"enum=browse_only,enum=read_write,enum=author" jsonschema_description:"What users do, in place of transitions. Default: browse_only. Of read_write, authors do what the mix author says."`
	Transitions       string   `json:"transitions,omitempty" jsonschema_description:"Transition table in the format of RUBBoS: its text, or the absolute path of a file on the nodes."`
	AuthorTransitions string   `json:"author_transitions,omitempty" jsonschema_description:"The same for authors."`
	Properties        string   `json:"properties,omitempty" jsonschema_description:"Properties of RUBBoS: their text, or the absolute path of a file on the nodes. Keys of this workload take precedence."`
	AuthorShare       *float64 `json:"author_share,omitempty" jsonschema:"minimum=0,maximum=1" jsonschema_description:"Share of the users who are authors. Default with read_write or author_transitions: that of properties, else 0.1; otherwise 0."`
	Accounts          int      `json:"accounts,omitempty" jsonschema:"minimum=1,maximum=1000000000" jsonschema_description:"Accounts that the site has: user1 with password1, and so on. Default: 1000."`
	Authors           int      `json:"authors,omitempty" jsonschema:"minimum=1,maximum=1000000000" jsonschema_description:"How many of them, the first, are authors'. Default: 50."`

	Users             int             `json:"users,omitempty" jsonschema:"minimum=1,maximum=1000000" jsonschema_description:"Number of users, of all nodes together."`
	Think             *unit.Duration  `json:"think,omitempty" jsonschema_description:"Mean think time, between an answer and the next request. Default: 7s."`
	ThinkDistribution string          `json:"think_distribution" jsonschema:"enum=exponential,enum=constant,enum=uniform,enum=lognormal,enum=empirical" jsonschema_description:"How think times are distributed."`
	ThinkSpread       float64         `json:"think_spread,omitempty" jsonschema:"minimum=0,maximum=10" jsonschema_description:"uniform: half of the width, lognormal: the standard deviation; as a share of the mean."`
	ThinkValues       []unit.Duration `json:"think_values,omitempty" jsonschema:"maxItems=100000" jsonschema_description:"empirical: think times, each as likely as the others."`
	MaxSteps          int             `json:"max_steps,omitempty" jsonschema:"minimum=1,maximum=1000000" jsonschema_description:"Requests after which a session ends at the latest. Default: 1000."`

	RampUp   *unit.Duration `json:"ramp_up,omitempty" jsonschema_description:"Time in which the users come, in whole seconds; not scored. Default: 8m."`
	Scored   *unit.Duration `json:"run,omitempty" jsonschema_description:"Time that is scored, in whole seconds. Default: 12m."`
	RampDown *unit.Duration `json:"ramp_down,omitempty" jsonschema_description:"Time in which users go on without being scored, so that what is under way can end, in whole seconds. Default: 30s."`

	Timeout     unit.Duration `json:"request_timeout" jsonschema_description:"Timeout of a request."`
	Connections int           `json:"connections,omitempty" jsonschema:"minimum=1,maximum=60000" jsonschema_description:"Connections of one node that its users share. Default: each user has its own, as browsers do, for as long as the server keeps it open."`
	Loops       int           `json:"loops,omitempty" jsonschema:"minimum=1,maximum=256" jsonschema_description:"Event loops of one node; each can use a processor. Default: one less than the number of processors."`
	Seed        int64         `json:"seed,omitempty" jsonschema:"minimum=0,maximum=9007199254740991" jsonschema_description:"Seed that makes random times and choices repeatable: the same users do the same, whatever the number of nodes; each trial draws others from it."`

	visitors session.Config // from Prepare on
	notes    []string       // what is done with tables that are not as they should be
	driver   load.Driver
	crowd    []*session.Users // of the run
}

// Kind describes the workload.
func Kind() workload.Kind {
	return workload.Kind{
		Name:    "users",
		Summary: "Users who visit a site in sessions: they follow links, fill forms, and think.",
		New: func() workload.Workload {
			return &Params{ThinkDistribution: session.Exponential, Timeout: unit.Duration(10 * time.Second)}
		},
	}
}

// The defaults of what a file of properties may also say.
const (
	defaultThink    = 7 * time.Second
	defaultRampUp   = 8 * time.Minute
	defaultRun      = 12 * time.Minute
	defaultRampDown = 30 * time.Second
	defaultSteps    = 1000
	defaultAccounts = 1000
	defaultAuthors  = 50
	defaultShare    = .1
)

// SharesLoad implements workload.Sharer: the nodes of a step share the users.
func (p *Params) SharesLoad() bool { return true }

// Notes implements workload.Noter. What is in files is known where this machine
// has them.
func (p *Params) Notes() []string {
	_, _ = p.config(readFile) // the nodes say what is wrong with files
	return p.notes
}

// Validate implements workload.Workload.
func (p *Params) Validate() error {
	_, err := p.config(noFiles)
	return err
}

// Complete implements workload.Completer: a study may set how many users there are.
func (p *Params) Complete() error {
	c, err := p.config(noFiles)
	if err == nil {
		err = workload.Invalid(c.Users == 0 && !isFile(p.Properties), "users", "there are no users",
			"set their number, of all nodes together, or use a study that does, as ntier")
	}
	return err
}

// Estimate implements workload.Workload.
func (p *Params) Estimate() time.Duration {
	c, err := p.config(noFiles)
	if err != nil {
		return 0
	}
	return c.End
}

// isFile tells the path of a file from a text that stands in its place.
func isFile(text string) bool { return filepath.IsAbs(text) && !strings.ContainsAny(text, "\n\t") }

// errElsewhere says that a file is on the nodes, and is not looked at here.
var errElsewhere = errors.New("on the nodes")

func noFiles(string) (string, error) { return "", errElsewhere }

// reader returns what stands in a file.
type reader func(path string) (string, error)

// text is that of a parameter, or what stands in the file that it names; not known where
// the file is not read here.
func (read reader) text(key, parameter string) (text string, known bool, err error) {
	if !isFile(parameter) {
		return parameter, true, nil
	}
	switch text, err = read(parameter); {
	case errors.Is(err, errElsewhere):
		return "", false, nil
	case err != nil:
		return "", false, refuse(key, err.Error(), "give the text itself, or the path of a file on the nodes")
	}
	return text, true, nil
}

// config is what the parameters, and the files that they name, ask for. Where
// the files cannot be read yet, what they would say is left out.
func (p *Params) config(read reader) (c session.Config, err error) {
	p.notes = nil
	props, err := p.properties(read)
	if err != nil {
		return c, err
	}
	duration := func(own *unit.Duration, theirs *time.Duration, byDefault time.Duration) time.Duration {
		switch {
		case own != nil:
			return own.Std()
		case theirs != nil:
			return *theirs
		}
		return byDefault
	}
	c.Users, c.Seed = cmp.Or(p.Users, props.Users), uint64(p.Seed)
	c.MaxSteps = cmp.Or(p.MaxSteps, props.MaxSteps, defaultSteps)
	c.Accounts, c.Authors = cmp.Or(p.Accounts, props.Accounts, defaultAccounts), cmp.Or(p.Authors, props.Authors, defaultAuthors)
	c.ErrorText = p.ErrorText
	c.Think = session.Think{Distribution: p.ThinkDistribution, Mean: duration(p.Think, nil, defaultThink), Spread: p.ThinkSpread}
	for _, v := range p.ThinkValues {
		c.Think.Values = append(c.Think.Values, v.Std())
	}
	c.RampUp = duration(p.RampUp, props.RampUp, defaultRampUp)
	run, down := duration(p.Scored, props.Run, defaultRun), duration(p.RampDown, props.RampDown, defaultRampDown)
	c.From, c.To, c.End = c.RampUp, c.RampUp+run, c.RampUp+run+down
	return c, errors.Join(
		wholeSeconds("ramp_up", c.RampUp, 0), wholeSeconds("run", run, time.Second), wholeSeconds("ramp_down", down, 0),
		c.Think.Check(), p.place(&c), p.chains(&c, props, read),
		workload.Invalid(p.Timeout <= 0, "request_timeout", "a timeout must be longer than 0s", "use 10s, say"),
		workload.Invalid(c.Authors > c.Accounts, "authors", fmt.Sprintf("%d authors of %d accounts", c.Authors, c.Accounts), "use no more authors than accounts"))
}

// refuse is the error about a parameter.
func refuse(key, problem, instead string) error {
	return &model.InputError{Path: key, Problem: problem, Allowed: instead}
}

// longestStage keeps the sum of stages far from what a duration can hold.
const longestStage = 30 * 24 * time.Hour

func wholeSeconds(key string, d, least time.Duration) error {
	return workload.Invalid(d%time.Second != 0 || d < least || d > longestStage, key, d.String()+" is impossible",
		fmt.Sprintf("use %v to 30d, in whole seconds, since users are scored by the second", least))
}

// place is where the site is, and what it has.
func (p *Params) place(c *session.Config) error {
	base, err := url.Parse(p.URL)
	if err != nil || base.Scheme != "http" || base.Host == "" || base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return refuse("url", fmt.Sprintf("%q is not where a site can be", p.URL),
			"use http://host:port, maybe with a path; users speak plain HTTP")
	}
	c.URL, c.Header = base, make(http.Header)
	for name, value := range p.Headers {
		if problem := load.HeaderProblem(name, value); problem != "" {
			return refuse("headers."+name, problem, "")
		}
		c.Header.Set(name, value)
	}
	interactions := site.Site(p.Site)
	if len(interactions) == 0 {
		interactions = site.Board()
	}
	if c.Site, err = interactions.Prepared(); err != nil {
		return refuse("site", err.Error(), "")
	}
	return nil
}

// properties are those of the file of RUBBoS, if there is one.
func (p *Params) properties(read reader) (props session.Properties, err error) {
	text, _, err := read.text("properties", p.Properties)
	if err != nil {
		return props, err
	}
	props, notes, err := session.ParseProperties(text)
	p.notes = append(p.notes, notes...)
	if err != nil {
		return props, refuse("properties", err.Error(), "")
	}
	return props, nil
}

// chains are what users and authors do.
func (p *Params) chains(c *session.Config, props session.Properties, read reader) error {
	if c.Site == nil {
		return nil // what is wrong with it is told
	}
	users, authors, mix := p.Transitions, p.AuthorTransitions, p.Mix
	if mix == "" {
		users, authors = cmp.Or(users, besides(p.Properties, props.UserTable)), cmp.Or(authors, besides(p.Properties, props.AuthorTable))
	}
	switch {
	case mix != "" && users != "":
		return refuse("mix", "mix and transitions both say what users do", "leave one of them out")
	case users == "":
		mix = cmp.Or(mix, session.BrowseOnly)
	}
	var err error
	if c.Chain, err = p.chain("transitions", users, mix, c.Site, read); err != nil {
		return err
	}
	if c.AuthorShare = p.authorShare(props, authors != "" || mix == session.ReadWrite); c.AuthorShare == 0 {
		return nil
	}
	if authors == "" && mix == "" {
		return refuse("author_share", "there are authors, and no table says what they do",
			"give author_transitions, or author_share: 0")
	}
	c.AuthorChain, err = p.chain("author_transitions", authors, session.Author, c.Site, read)
	if bad, ok := errors.AsType[*model.InputError](err); ok && authors == "" {
		bad.Problem, bad.Allowed = fmt.Sprintf("%.3g %% of the users are authors: %s", 100*c.AuthorShare, strings.TrimPrefix(bad.Problem, model.ErrUsage.Error()+": ")), "or say that there are no authors: author_share: 0"
	}
	return err
}

// authorShare is the share of the users who are authors. A share of the properties
// holds where something says what authors do, and else is told.
func (p *Params) authorShare(props session.Properties, authors bool) float64 {
	switch {
	case p.AuthorShare != nil:
		return *p.AuthorShare
	case authors && props.AuthorShare != nil:
		return *props.AuthorShare
	case authors:
		return defaultShare
	case props.AuthorShare != nil && *props.AuthorShare > 0:
		p.notes = append(p.notes, fmt.Sprintf("workload_percentage_of_author: nothing says what the %.3g %% do, so there "+
			"are no authors; give author_transitions, or author_share", 100**props.AuthorShare))
	}
	return 0
}

// besides is the path of a file that a file of properties names.
func besides(properties, name string) string {
	if name == "" || !isFile(properties) || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(properties), name)
}

// chain is that of a table, or else of a mix.
func (p *Params) chain(key, table, mix string, s site.Site, read reader) (*session.Chain, error) {
	if table == "" {
		c, err := session.Mix(mix, s)
		if err != nil { // of the built-in board none is missing, so the file has a site
			return nil, refuse("site", err.Error(), "")
		}
		return c, nil
	}
	if !isFile(table) && !strings.Contains(table, "\n") {
		return nil, refuse(key, fmt.Sprintf("%q is neither a table nor the absolute path of a file", table),
			"give the text of the table, or an absolute path on the nodes")
	}
	text, known, err := read.text(key, table)
	if !known {
		return nil, err
	}
	c, notes, err := session.ParseTable(text, s)
	for _, n := range notes {
		p.notes = append(p.notes, key+": "+n)
	}
	if err != nil {
		return nil, refuse(key, err.Error(), "")
	}
	return c, nil
}
