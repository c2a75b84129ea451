package wire

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// ErrForm means that bytes are not a message of the kind that they claim to be,
// or that the message holds more than it may.
var ErrForm = errors.New("the message does not keep to the form of its kind")

// Bounds of what a server keeps of each node. Agents keep to them before they
// send.
const (
	maxText   = 2 << 10 // bytes of a text for people
	maxName   = 256     // bytes of a name, a value of a label, a fact
	maxLabels = 64
	maxListed = 256 // disks, addresses
	maxHeld   = 256 // attempts that an agent still holds
	// Of a result: its metrics of each kind, histograms, which are one a second of each
	// metric, stages, and bytes of why it failed, which may quote what was printed.
	maxMetrics    = 20_000
	maxHistograms = 200_000
	maxPassed     = 1000
	maxReason     = 16 << 10
)

// What things in JSON become in memory, about, in bytes.
const (
	perObject = 96
	perValue  = 8
	// unpackable is how many times as large as its text a message may become;
	// what is below freely is no matter.
	unpackable = 4
	freely     = 16 << 10
	// maxValues is what all of them may take: some four million numbers. A result
	// of the longest task has one million.
	maxValues = 36 << 20
)

// Bounded reports whether a JSON text becomes too large when it is decoded:
// "{},{},{}" takes thirty times as much memory as it has bytes. No message of
// scalebench's comes near, because names take more room than values.
func Bounded(text []byte) error {
	size, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			size += perObject
		case c == ',':
			size += perValue
		}
	}
	if size > min(maxValues, freely+unpackable*len(text)) {
		return fmt.Errorf("%w: %d bytes hold too many values", ErrForm, len(text))
	}
	return nil
}

// Fitted returns the hello with facts that are cut to what a server keeps. A
// host can have thousands of addresses; the first ones matter.
func (h Hello) Fitted() Hello {
	f := &h.Node.Facts
	f.Addresses = slices.Clone(f.Addresses[:min(len(f.Addresses), maxListed)])
	f.Disks = slices.Clone(f.Disks[:min(len(f.Disks), maxListed)])
	h.Holding = h.Holding[:min(len(h.Holding), maxHeld)]
	if f.Cloud != nil {
		cloud := *f.Cloud
		f.Cloud = &cloud
	}
	for _, text := range textsOf(f) {
		*text = cut(*text, maxName)
	}
	return h
}

// cut shortens a text to so many bytes, at the end of a character.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len("…")], "") + "…"
}

// FittedResult returns the result with texts for people that are cut to what a server
// keeps. Names are as they are: cut, one metric would become another.
func FittedResult(r model.Result) model.Result {
	r.Error = cut(r.Error, maxReason)
	r.Stages = slices.Clone(r.Stages)
	for i := range r.Stages {
		s := &r.Stages[i]
		s.Note, s.Error = cut(s.Note, maxReason), cut(s.Error, maxReason)
	}
	return r
}

// checkTexts refuses results with names and texts that are longer than any real one.
func (r Result) checkTexts() error {
	for what, n := range map[string][2]int{
		"samples": {len(r.Samples), maxMetrics}, "series": {len(r.Series), maxMetrics},
		"series of the host": {len(r.Host), maxMetrics},
		"histograms":         {len(r.Histograms), maxHistograms}, "stages": {len(r.Stages), maxPassed},
	} {
		if n[0] > n[1] {
			return fmt.Errorf("%d %s, and there may be %d", n[0], what, n[1])
		}
	}
	names := []string{string(r.Run), string(r.Step), string(r.Outcome), r.Stdout.Artifact, r.Stderr.Artifact}
	for _, s := range r.Samples {
		if len(s.Labels) > maxLabels {
			return fmt.Errorf("metric %.40q has %d labels, and may have %d", s.Metric, len(s.Labels), maxLabels)
		}
		names = append(names, s.Metric, s.Unit, string(s.Better), s.Resource)
		for key, value := range s.Labels {
			names = append(names, key, value)
		}
	}
	for _, s := range r.Series {
		names = append(names, s.Metric, s.Unit)
	}
	for _, s := range r.Host {
		names = append(names, s.Metric, s.Unit)
	}
	for _, h := range r.Histograms {
		names = append(names, h.Metric, h.Unit)
	}
	reasons := []string{r.Error}
	for _, s := range r.Stages {
		names, reasons = append(names, s.Name, s.Service), append(reasons, s.Note, s.Error)
	}
	for _, text := range reasons {
		if len(text) > maxReason {
			return fmt.Errorf("%.40q… has %d bytes, and may have %d", text, len(text), maxReason)
		}
	}
	return checkNames(names...)
}

// Fitted returns the report with a text that is cut to what a server takes.
func (r Report) Fitted() Report {
	r.Event.Text = cut(r.Event.Text, maxText)
	return r
}

func textsOf(f *model.Facts) []*string {
	texts := []*string{&f.Hostname, &f.BootID, &f.OS, &f.Kernel, &f.Arch, &f.CPUModel, &f.Microcode, &f.Hypervisor, &f.Agent}
	for i := range f.Addresses {
		texts = append(texts, &f.Addresses[i])
	}
	for i := range f.Disks {
		texts = append(texts, &f.Disks[i].Name, &f.Disks[i].Model)
	}
	if c := f.Cloud; c != nil {
		texts = append(texts, &c.Provider, &c.InstanceType, &c.Zone, &c.InstanceID)
	}
	return texts
}

func checkNode(n model.Node) error {
	if len(n.Labels) > maxLabels {
		return fmt.Errorf("node %s has %d labels, and may have %d", n.ID, len(n.Labels), maxLabels)
	}
	if len(n.Facts.Addresses) > maxListed || len(n.Facts.Disks) > maxListed {
		return fmt.Errorf("node %s has more than %d addresses or disks", n.ID, maxListed)
	}
	for key, value := range n.Labels {
		if err := checkNames(key, value); err != nil {
			return fmt.Errorf("label: %w", err)
		}
	}
	f := n.Facts
	if f.Cores < 0 || !(f.CPULimit >= 0) || !(f.CoresTogether >= 0) || f.Memory < 0 || f.MemLimit < 0 ||
		slices.ContainsFunc(f.Disks, func(d model.Disk) bool { return d.Size < 0 }) {
		return fmt.Errorf("node %s has less than nothing of cores, memory or disk", n.ID)
	}
	for _, text := range textsOf(&n.Facts) {
		if err := checkNames(*text); err != nil {
			return err
		}
	}
	return nil
}

// checkNames refuses names that are longer than any real one.
func checkNames(names ...string) error {
	for _, n := range names {
		if len(n) > maxName {
			return fmt.Errorf("%.40q… has %d bytes, and may have %d", n, len(n), maxName)
		}
	}
	return nil
}
