package lab

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/scalebench/scalebench/internal/environ"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// What a lab may be. Below the lower bounds the kernel's limits stop being
// exact, or a host cannot even start a program.
const (
	// MaxHosts is how many nodes and services a lab may have together.
	MaxHosts = 200
	// MaxGroup is how many nodes may stand in a group, and how many groups.
	MaxGroup = 64

	minMemory    = 64 * unit.MiB
	minVolume    = 16 * unit.MiB
	minCores     = 0.01
	maxCores     = 1024
	minLink      = 8e3    // bytes per second: 64kbit/s
	maxLink      = 12.5e9 // bytes per second: 100Gbit/s
	maxDelay     = 10 * time.Second
	minQueueTime = time.Millisecond
	maxQueueTime = 250 * time.Millisecond // of the fastest link it is as many bytes as the kernel can count
	minBandwidth = 4096                   // bytes per second: one page
	maxName      = 40                     // characters, so that names of namespaces stay readable
)

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

type checker struct {
	volumes []Volume // what use may refer to
	errs    []error
}

func (c *checker) add(field, allowed, problem string, args ...any) {
	c.errs = append(c.errs, &model.InputError{Path: field, Problem: fmt.Sprintf(problem, args...), Allowed: allowed})
}

// Validate reports everything that is impossible in the specification:
// [*model.InputError] values with a Path like "groups[0].link", joined with
// [errors.Join].
func (s Spec) Validate() error {
	c := &checker{volumes: s.Volumes}
	switch {
	case s.Nodes == 0 && len(s.Groups) == 0:
		c.add("nodes", "give nodes: 4, or groups, each with a name and its nodes", "the lab has no nodes")
	case s.Nodes != 0 && len(s.Groups) > 0:
		c.add("nodes", "use either nodes or groups", "the lab has nodes and groups")
	case s.Nodes != 0:
		c.count("nodes", s.Nodes)
	case len(s.Groups) > MaxGroup:
		c.add("groups", fmt.Sprintf("use at most %d", MaxGroup), "there are %d", len(s.Groups))
	case s.Size() > MaxHosts:
		c.add("groups", fmt.Sprintf("use at most %d", MaxHosts), "they have %d nodes together", s.Size())
	}
	c.limits("", s.Limits)
	if len(s.Groups) == 0 {
		c.queue("", s.Limits)
	}
	c.link("uplink", s.Uplink)
	c.labels("labels", s.Labels)
	c.busy(s.Busy)
	taken := make(map[string]string)
	for i, v := range s.Volumes {
		c.volume(fmt.Sprintf("volumes[%d].", i), v, taken)
	}
	taken = make(map[string]string)
	for i, g := range s.Groups {
		at := fmt.Sprintf("groups[%d].", i)
		c.name(at+"name", g.Name, taken, "another group has that name")
		c.count(at+"nodes", g.Nodes)
		c.limits(at, g.Limits)
		c.queue(at, s.resolve(g.Limits))
		c.link(at+"uplink", g.Uplink)
		c.labels(at+"labels", g.Labels)
	}
	return errors.Join(c.errs...)
}

// ValidateServices reports everything that is impossible in a list of services
// for this lab, as Validate does. Paths begin with the position in the list:
// "[0].name".
func (s Spec) ValidateServices(services []Service) error {
	c := &checker{volumes: s.Volumes}
	taken := make(map[string]string)
	if s.Size() <= MaxHosts { // otherwise Validate refuses the lab anyway
		for _, h := range s.Hosts(nil) {
			taken[string(h.Name)] = "a node of the lab has that name"
		}
	}
	for i, svc := range services {
		at := fmt.Sprintf("[%d].", i)
		c.name(at+"name", svc.Name, taken, "another service has that name")
		if strings.TrimSpace(svc.Command) == "" {
			c.add(at+"command", "give the shell command that runs the service", "is empty")
		}
		if svc.Port < 0 || svc.Port > 65535 {
			c.add(at+"port", "give a TCP port from 1 to 65535, or none", "%d is out of range", svc.Port)
		}
		if problem, allowed := environ.Check(svc.PassEnv); problem != "" {
			c.add(at+"pass_env", allowed, "%s", problem)
		}
		c.limits(at, svc.Limits)
		c.queue(at, svc.Limits)
	}
	if n := s.Size() + len(services); n > MaxHosts && len(services) > 0 {
		c.add(fmt.Sprintf("[%d]", len(services)-1), fmt.Sprintf("use at most %d nodes and services together", MaxHosts),
			"the lab would have %d hosts", n)
	}
	return errors.Join(c.errs...)
}

func (c *checker) count(field string, nodes int) {
	if nodes < 1 || nodes > MaxGroup {
		c.add(field, fmt.Sprintf("use 1 to %d", MaxGroup), "%d nodes", nodes)
	}
}

// name checks a name and that it is not taken, and then takes it.
func (c *checker) name(field, name string, taken map[string]string, twice string) {
	switch why, ok := taken[name]; {
	case !namePattern.MatchString(name) || len(name) > maxName:
		c.add(field, fmt.Sprintf("use 1 to %d letters, digits, - and _, beginning with a letter or digit", maxName), "%q is not a valid name", name)
	case ok:
		c.add(field, "use another name", "%q is already used: %s", name, why)
	default:
		taken[name] = twice
	}
}

// limits checks those of a host; at is the path before the field's name.
func (c *checker) limits(at string, l Limits) {
	c.link(at+"link", l.Link)
	if d := l.Delay.Std(); d < 0 || d > maxDelay || d%time.Microsecond != 0 {
		c.add(at+"delay", fmt.Sprintf("use 1µs to %v, in whole microseconds", maxDelay), "%s cannot be set", l.Delay)
	}
	if q := l.Queue.Std(); q != 0 && (q < minQueueTime || q > maxQueueTime) {
		c.add(at+"queue", fmt.Sprintf("use %v to %v", minQueueTime, maxQueueTime), "%s cannot be set", l.Queue)
	}
	c.cpu(at+"cpu", l.CPU)
	if l.Memory != 0 && l.Memory < minMemory {
		c.add(at+"memory", fmt.Sprintf("use at least %s", minMemory), "%s is too little to run anything", l.Memory)
	}
	allowed := "the lab has no volumes"
	var names []string
	for _, v := range c.volumes {
		names = append(names, v.Name)
		allowed = "the lab's volumes are " + strings.Join(names, ", ")
	}
	for i, name := range l.Use {
		if !slices.Contains(names, name) {
			c.add(fmt.Sprintf("%suse[%d]", at, i), allowed, "unknown volume %q", name)
		}
	}
}

// maxLabel is how long a label's name or value may be.
const maxLabel = 200

func (c *checker) labels(field string, labels map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		at := field + "." + key
		switch value := labels[key]; {
		case slices.Contains([]string{model.LabelFleet, model.LabelGroup, model.LabelAddress}, key):
			c.add(at, "use another name", "scalebench sets this label itself")
		case !namePattern.MatchString(key) || len(key) > maxLabel:
			c.add(at, "use letters, digits, - and _, beginning with a letter or digit", "%q is not a valid name", key)
		case value == "" || len(value) > maxLabel || strings.ContainsFunc(value, unicode.IsControl):
			c.add(at, fmt.Sprintf("use text of 1 to %d characters", maxLabel), "%q cannot be its value", value)
		}
	}
}

func (c *checker) busy(b *Busy) {
	if b == nil {
		return
	}
	if b.From < 0 || b.From > 23 {
		c.add("busy.from", "use 0 to 23", "%d is not an hour", b.From)
	}
	if b.To < 0 || b.To > 24 || b.To == b.From {
		c.add("busy.to", "use 0 to 24, and another hour than from", "%d is impossible", b.To)
	}
	if b.Day != 0 && (b.Day.Std() < time.Second || b.Day.Std() > 24*time.Hour) {
		c.add("busy.day", "use 1s to 24h", "a day of %s is impossible", b.Day)
	}
	if b.Link == (unit.Rate{}) && b.Uplink == (unit.Rate{}) && b.CPU == 0 {
		c.add("busy", "give link, uplink or cpu", "nothing is slower")
	}
	c.cpu("busy.cpu", b.CPU)
	c.link("busy.link", b.Link)
	c.link("busy.uplink", b.Uplink)
}

func (c *checker) cpu(field string, cores float64) {
	if cores != 0 && !(cores >= minCores && cores <= maxCores) { // so that NaN is refused too
		c.add(field, fmt.Sprintf("use %v to %v", minCores, maxCores), "%v cores", cores)
	}
}

// queue notes a link's queue where there is no link to wait for.
func (c *checker) queue(at string, l Limits) {
	if l.Queue != 0 && l.Link == (unit.Rate{}) {
		c.add(at+"queue", "give the link's rate, too: link: 100Mbit/s", "the link has no rate, so that nothing waits for it")
	}
}

func (c *checker) link(field string, r unit.Rate) {
	c.rate(field, r, minLink, maxLink, "use 64kbit/s to 100Gbit/s, or as much in bytes per second")
}

// rate checks that a rate, if there is one, is between two of bytes per second.
func (c *checker) rate(field string, r unit.Rate, lowest, highest float64, allowed string) {
	if r == (unit.Rate{}) {
		return
	}
	if bytes, err := r.BytesPerSecond(); err != nil || bytes < lowest || bytes > highest {
		c.add(field, allowed, "%s cannot be set", r)
	}
}

func (c *checker) volume(at string, v Volume, taken map[string]string) {
	c.name(at+"name", v.Name, taken, "another volume has that name")
	if v.IOPS < 0 {
		c.add(at+"iops", "use 1 or more, or none for no limit", "%d operations per second", v.IOPS)
	}
	switch v.Type {
	case "", Ext4, Raw:
		if v.Size != 0 && v.Size < minVolume {
			c.add(at+"size", fmt.Sprintf("use at least %s", minVolume), "%s is too small", v.Size)
		}
	case Folder:
		if v.Size != 0 || v.IOPS != 0 || v.Bandwidth != (unit.Rate{}) {
			c.add(at+"type", "leave out size, iops and bandwidth, or choose ext4 or raw", "a folder cannot have limits")
		}
	default:
		c.add(at+"type", "use ext4, raw and folder", "%q is not a type of volume", v.Type)
	}
	c.rate(at+"bandwidth", v.Bandwidth, minBandwidth, math.Inf(1), "use 4KiB/s or more, in bytes or bits per second; operations are limited by iops")
}
