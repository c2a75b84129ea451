package service

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/expression"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/probe"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// Settings are the keys of a service that runs on nodes of the fleet, beside
// those that every service has. Texts may have placeholders.
type Settings struct {
	Volume      string        `json:"volume,omitempty" jsonschema_description:"Volume of the node on which the folder of the service is. Default: below /var/tmp."`
	Files       []File        `json:"files,omitempty" jsonschema:"maxItems=64" jsonschema_description:"Files that are made from templates before the service starts."`
	Reset       *Reset        `json:"reset,omitempty" jsonschema_description:"A folder of the node that is copied before each start, such as a loaded database."`
	After       []string      `json:"after,omitempty" jsonschema:"maxItems=64,uniqueItems=true" jsonschema_description:"Names of services that must be healthy, as seen from this one's node, before this one starts."`
	Healthy     *Healthy      `json:"healthy,omitempty" jsonschema_description:"When the service is ready to be used. Default: its port accepts connections."`
	Warm        *Warm         `json:"warm,omitempty" jsonschema_description:"What is done when the service is healthy, before anything is measured."`
	Bounds      *Bounds       `json:"limits,omitempty" jsonschema_description:"Limits of a control group of its own for each instance, below that of its node."`
	Steps       []Step        `json:"steps,omitempty" jsonschema:"maxItems=1000" jsonschema_description:"Limits that change while it is measured, in the order of time."`
	Keep        []string      `json:"keep,omitempty" jsonschema:"maxItems=64" jsonschema_description:"Patterns of files in the folder of the service that are kept with the result: log/*.log. What it prints is kept anyway."`
	Every       unit.Duration `json:"every,omitempty" jsonschema_description:"Time between readings of its signals; default 1s. 50ms shows in the report what is full for less than a second."`
	StopTimeout unit.Duration `json:"stop_timeout,omitempty" jsonschema_description:"How long it may take to end when it is told to (SIGTERM); then it is killed. Default: 10s."`
	Probes      []probe.Probe `json:"probes,omitempty" jsonschema:"maxItems=16" jsonschema_description:"What the service itself tells of its threads, queues and connections, once a second."`
}

// File is made from a template, or from a text as it is.
type File struct {
	Path     string `json:"path" jsonschema:"required,minLength=1" jsonschema_description:"Where it is, in the folder of the service."`
	Template string `json:"template" jsonschema:"required" jsonschema_description:"Its content, a template of Go's text/template: .Self and .Service.NAME (a list) have Name, Index, Address and Port; .Dir is the folder."`
}

// Reset copies a folder.
type Reset struct {
	From string `json:"from" jsonschema:"required,minLength=1" jsonschema_description:"Absolute path of the folder on the node."`
	To   string `json:"to,omitempty" jsonschema_description:"Where the copy is, in the folder of the service. Default: data."`
}

// Healthy says what to look at.
type Healthy struct {
	Port    int           `json:"port,omitempty" jsonschema:"minimum=1,maximum=65535" jsonschema_description:"TCP port that accepts connections."`
	HTTP    string        `json:"http,omitempty" jsonschema_description:"URL that answers GET with a status from 200 to 399."`
	Command string        `json:"command,omitempty" jsonschema_description:"Shell command that ends with status 0; it is executed on the node that waits."`
	Within  unit.Duration `json:"within,omitempty" jsonschema_description:"How long that may take from the start. Default: what timeouts.ready leaves."`
}

// Warm is a command.
type Warm struct {
	Command string        `json:"command" jsonschema:"required,minLength=1" jsonschema_description:"Shell command, executed on the node of the service; it must end with status 0."`
	Timeout unit.Duration `json:"timeout,omitempty" jsonschema_description:"How long it may take. Default: 30s."`
}

// Bounds are limits of a control group.
type Bounds struct {
	CPU    float64   `json:"cpu,omitempty" jsonschema:"minimum=0.01,maximum=1024" jsonschema_description:"Cores that the service may use; a fraction is allowed."`
	Memory unit.Size `json:"memory,omitempty" jsonschema_description:"Memory that the service may use; at least 4MiB."`
	Link   unit.Rate `json:"link,omitzero" jsonschema_description:"Rate of its node's link in each direction, which is known and not set by this: what is sent is seen as a share of it. Default: that of the lab's host; else none."`
}

// Step is a limit from a moment on.
type Step struct {
	At  unit.Duration `json:"at" jsonschema:"required" jsonschema_description:"When, since the measurement began; 0s: at its beginning, when the service is warm."`
	CPU float64       `json:"cpu" jsonschema:"required,minimum=0.01,maximum=1024" jsonschema_description:"Cores that the service may use from then on."`
}

// filledProbe is a probe as it is asked: with the addresses of an instance, and a file
// of its folder.
func filledProbe(p probe.Probe, fill func(string) string, dir string) probe.Probe {
	p.URL, p.File, p.Folder = fill(p.URL), fill(p.File), dir
	return p
}

// standIn takes the place of addresses in checks, which are known later only.
func standIn(text string) string {
	text = strings.NewReplacer(model.SelfPlaceholder, standInAddress, model.IndexPlaceholder, "0").Replace(text)
	return model.FillRefs(text, func(model.ServiceRef) string { return standInAddress })
}

const standInAddress = "10.213.0.1" // as a lab gives

// Defaults of what the file leaves out.
const (
	defaultStop = 10 * time.Second
	defaultWarm = 30 * time.Second
	minMemory   = 4 * unit.MiB
)

// Bounds of the time between readings of signals.
const (
	leastStep   = 10 * time.Millisecond
	longestStep = 2 * time.Second // a second without a reading is not known
)

// refusals are what is impossible.
type refusals []error

func (r *refusals) refuse(bad bool, key, allowed, problem string, args ...any) {
	*r = append(*r, workload.Refuse(bad, key, allowed, problem, args...))
}

func (r *refusals) invalid(bad bool, key, problem, instead string) {
	*r = append(*r, workload.Invalid(bad, key, problem, instead))
}

// Validate reports impossible values, with paths that begin at the service.
func (s Settings) Validate() error {
	r := &refusals{}
	s.validatePlaces(r)
	for i, f := range s.Files {
		at := fmt.Sprintf("files[%d].", i)
		r.refuse(!filepath.IsLocal(f.Path) || path.Clean(f.Path) == ".", at+"path",
			"a path in the folder of the service: conf/my.cnf", "%q leaves it", f.Path)
		_, err := expression.NewTemplate(f.Path, f.Template)
		r.invalid(err != nil, at+"template", fmt.Sprintf("it cannot be read: %v", err),
			"use {{.Self.Address}}, {{range .Service.NAME}}{{.Address}} {{end}}")
	}
	if x := s.Reset; x != nil {
		r.refuse(!filepath.IsAbs(x.From), "reset.from", "an absolute path on the node", "%q is not one", x.From)
		r.refuse(filepath.IsAbs(x.From) && !isData(x.From), "reset.from",
			"the folder of loaded data alone, such as /var/lib/mysql",
			"%q is no folder of data that could be copied", x.From)
		r.refuse(x.To != "" && !filepath.IsLocal(x.To), "reset.to", "a path in the folder of the service", "%q leaves it",
			x.To)
	}
	s.validateTimes(r)
	s.validateLimits(r)
	for i, p := range s.Probes {
		at, err := fmt.Sprintf("probes[%d]", i), filledProbe(p, standIn, "/").Check()
		r.invalid(err != nil, at, fmt.Sprint(err), "")
		r.refuse(p.File != "" && !filepath.IsLocal(standIn(p.File)), at+".file",
			"a file in the folder of the service: log/access.log", "%q leaves it", p.File)
		r.refuse(p.Every < 0 || p.Every.Std() > longestStep, at+".every", fmt.Sprintf("at most %v", longestStep),
			"%s is impossible", p.Every)
	}
	for i, pattern := range s.Keep {
		_, err := path.Match(pattern, "")
		r.refuse(err != nil || !filepath.IsLocal(pattern), fmt.Sprintf("keep[%d]", i),
			"a pattern in the folder of the service: log/*.log", "%q is none", pattern)
	}
	return errors.Join(*r...)
}

// validatePlaces refuses files where something else is: another file, a folder with
// another file in it, or what is reset.
func (s Settings) validatePlaces(r *refusals) {
	taken := make(map[string]string) // what is there, or in there
	take := func(at, what string) {
		for ; at != "."; at = path.Dir(at) {
			if _, ok := taken[at]; !ok {
				taken[at] = what
			}
		}
	}
	if s.Reset != nil && filepath.IsLocal(s.Reset.to()) {
		take(path.Clean(s.Reset.to()), "what is reset")
	}
	made := make(map[string]bool)
	for i, f := range s.Files {
		at := path.Clean(f.Path)
		if !filepath.IsLocal(at) {
			continue // told
		}
		other := taken[at]
		for up := path.Dir(at); other == "" && up != "."; up = path.Dir(up) {
			if made[up] {
				other = "the file " + up
			}
		}
		r.refuse(other != "", fmt.Sprintf("files[%d].path", i), "a path of its own for each file", "%q is in the way of %s",
			f.Path, other)
		take(at, "the file "+at)
		made[at] = true
	}
}

// to is where the copy is, in the folder of the service.
func (r Reset) to() string { return cmp.Or(r.To, "data") }

// isData tells folders that may have been loaded from those of the kernel, which have no
// end, and from all of the disk, in which the copy would be, too. In /dev/shm is what
// users put there.
func isData(folder string) bool {
	folder = path.Clean(folder)
	return strings.HasPrefix(folder, "/dev/shm/") || folder != "/" && !slices.ContainsFunc([]string{"/proc/", "/sys/",
		"/dev/"},
		func(kernel string) bool { return strings.HasPrefix(folder+"/", kernel) })
}

func (s Settings) validateTimes(r *refusals) {
	r.refuse(s.Every != 0 && (s.Every.Std() < leastStep || s.Every.Std() > longestStep), "every", fmt.Sprintf("%v to %v",
		leastStep, longestStep), "%s is impossible", s.Every)
	r.refuse(s.StopTimeout < 0, "stop_timeout", "0s or more", "%s is impossible", s.StopTimeout)
	if h := s.Healthy; h != nil {
		ways := 0
		for _, given := range []bool{h.Port != 0, h.HTTP != "", h.Command != ""} {
			if given {
				ways++
			}
		}
		r.invalid(ways > 1, "healthy", fmt.Sprintf("it has %d ways to see it", ways), "use one of port, http and command")
		r.refuse(h.Within < 0, "healthy.within", "a longer time than 0s", "%s is impossible", h.Within)
		r.refuse(h.HTTP != "" && !strings.HasPrefix(h.HTTP, "http://") && !strings.HasPrefix(h.HTTP, "https://"),
			"healthy.http", "a URL: http://${self}:8080/health", "%q is none", h.HTTP)
	}
	if s.Warm != nil {
		r.refuse(s.Warm.Timeout < 0, "warm.timeout", "a longer time than 0s", "%s is impossible", s.Warm.Timeout)
	}
}

func (s Settings) validateLimits(r *refusals) {
	cores := func(key string, cpu float64) {
		r.refuse(!(cpu >= minCores && cpu <= maxCores), key, fmt.Sprintf("%v to %v", minCores, maxCores), "%v cores", cpu)
	}
	if b := s.Bounds; b != nil {
		if b.CPU != 0 {
			cores("limits.cpu", b.CPU)
		}
		r.refuse(b.Memory != 0 && b.Memory < minMemory, "limits.memory", minMemory.String()+" or more",
			"%s is too little to run anything", b.Memory)
		_, err := b.Link.BytesPerSecond()
		r.invalid(err != nil && b.Link != (unit.Rate{}), "limits.link", fmt.Sprint(err), "use a rate such as 100Mbit/s")
	}
	for i, step := range s.Steps {
		at := fmt.Sprintf("steps[%d].", i)
		cores(at+"cpu", step.CPU)
		r.refuse(step.At < 0, at+"at", "0s or later", "%s is before the measurement", step.At)
		r.refuse(i > 0 && step.At <= s.Steps[i-1].At, at+"at", "the order of time", "%s is not after the step before",
			step.At)
	}
}

// WithCPU are the settings with another limit of the processor at the beginning of the
// measurement, and WithMemory with another one of memory. What they share with the
// file stays as it is. So does the limit of the preparation where there is another: a
// service that starts slower is prepared otherwise; only what is larger raises it, too.
func (s Settings) WithCPU(cores float64) Settings {
	s.Steps = slices.Clone(s.Steps)
	if len(s.Steps) > 0 && s.Steps[0].At == 0 {
		s.Steps[0].CPU = cores
		if before := s.bounds().CPU; before == 0 || before >= cores {
			return s
		}
	}
	b := s.bounds()
	b.CPU = cores
	s.Bounds = &b
	return s
}

// WithMemory are the settings with another limit of memory.
func (s Settings) WithMemory(size unit.Size) Settings {
	b := s.bounds()
	b.Memory = size
	s.Bounds = &b
	return s
}

// bounds are a copy of the limits.
func (s Settings) bounds() Bounds {
	if s.Bounds == nil {
		return Bounds{}
	}
	return *s.Bounds
}

// CPU is the limit of the processor at the beginning of the measurement, in cores; 0:
// there is none.
func (s Settings) CPU() float64 {
	if len(s.Steps) > 0 && s.Steps[0].At == 0 {
		return s.Steps[0].CPU
	}
	return s.bounds().CPU
}

// Memory is the limit of memory; 0: there is none.
func (s Settings) Memory() unit.Size { return s.bounds().Memory }

// StopsWithin is how long a service with these settings may take to end.
func StopsWithin(s Settings) time.Duration { return cmp.Or(s.StopTimeout.Std(), defaultStop) }

// MostCPU is the largest limit of the processor that it ever has; 0 for none.
func (s Settings) MostCPU() float64 {
	most := s.bounds().CPU
	for _, step := range s.Steps {
		most = max(most, step.CPU)
	}
	return most
}

// CheckTemplates fills in templates where there are services of these names, with paths
// that begin at the service. How many instances a step has is not known: an index
// beyond them is left to [Settings.CheckInstances].
func (s Settings) CheckTemplates(services []string) error {
	v := view{Self: Host{Address: standInAddress}, Service: make(map[string][]Host), Dir: "/"}
	for _, name := range services {
		v.Service[name] = hostsOf(name, 2)
	}
	return s.fillAll(v, "use .Self, .Dir, and of .Service "+strings.Join(services, ", ")+"; hosts have Name, Index, Address and Port", func(err error) bool {
		return !strings.Contains(err.Error(), "index out of range")
	})
}

// CheckInstances fills in the templates of every instance of the service of this name in
// a step that has so many of each service, with paths that begin at the service.
func (s Settings) CheckInstances(name string, counts map[string]int) error {
	v := view{Service: make(map[string][]Host), Dir: "/"}
	var all []string
	for _, other := range slices.Sorted(maps.Keys(counts)) {
		v.Service[other] = hostsOf(other, counts[other])
		all = append(all, fmt.Sprintf("%s %d", other, counts[other]))
	}
	for i, host := range v.Service[name] {
		if i > 0 && i < counts[name]-1 {
			continue // it differs from the first and the last by nothing that a template may need
		}
		v.Self = host
		if err := s.fillAll(v, "this step has of each service: "+strings.Join(all, ", "), func(error) bool { return true }); err != nil {
			return err
		}
	}
	return nil
}

func hostsOf(name string, count int) (out []Host) {
	for i := range count {
		out = append(out, Host{Name: name, Index: i, Address: standInAddress})
	}
	return out
}

// fillAll fills in all templates; counts says which of the errors do.
func (s Settings) fillAll(v view, allowed string, counts func(error) bool) error {
	r := refusals{}
	for i, f := range s.Files {
		t, err := expression.NewTemplate(f.Path, standIn(f.Template))
		if err == nil {
			err = t.Execute(io.Discard, v)
		}
		r.invalid(err != nil && counts(err), fmt.Sprintf("files[%d].template", i), fmt.Sprintf("it cannot be filled in: %v",
			err), allowed)
	}
	return errors.Join(r...)
}
