package model

import (
	"fmt"
	"iter"
	"regexp"
	"strconv"
	"strings"
)

// ServicePlaceholder is what stands for the address of a service in the
// parameters of workloads: "${service.NAME}", the first where there are several.
func ServicePlaceholder(name string) string { return "${service." + name + "}" }

// InstancePlaceholder stands for the address of one instance, counted from 0.
func InstancePlaceholder(name string, index int) string {
	return fmt.Sprintf("${service.%s[%d]}", name, index)
}

// Self stands for the own address of an instance of a service, and Index for its
// number among those, from 0.
const (
	SelfPlaceholder  = "${self}"
	IndexPlaceholder = "${index}"
)

// PlaceholderRE finds placeholders of services, also those that are not closed:
// the groups are the name, what stands in brackets, and the end.
var placeholderRE = regexp.MustCompile(`\$\{service\.([A-Za-z0-9_-]*)(?:\[([^\]\}]*)\])?(\}?)`)

// ServiceRef is a placeholder that was found in a text.
type ServiceRef struct {
	Text string // the placeholder
	Name string // of the service; may be empty
	// Index is the instance; -1 for all of them.
	Index int
	// Problem says what is wrong with its form; empty: nothing.
	Problem string
}

// ServiceRefs yields the placeholders of services in a text.
func ServiceRefs(text string) iter.Seq[ServiceRef] {
	return func(yield func(ServiceRef) bool) {
		for _, m := range placeholderRE.FindAllStringSubmatch(text, -1) {
			if !yield(serviceRef(m)) {
				return
			}
		}
	}
}

func serviceRef(m []string) ServiceRef {
	r := ServiceRef{Text: m[0], Name: m[1]}
	n, err := strconv.ParseUint(m[2], 10, 16)
	switch {
	case m[3] == "":
		r.Problem = "is not closed"
	case m[2] == "*":
		r.Index = -1
	case err == nil:
		r.Index = int(n)
	case strings.Contains(m[0], "["):
		r.Problem = "has no number in its brackets"
	}
	return r
}

// FillRefs replaces each placeholder of a service in a text.
func FillRefs(text string, by func(ServiceRef) string) string {
	return placeholderRE.ReplaceAllStringFunc(text, func(found string) string {
		return by(serviceRef(placeholderRE.FindStringSubmatch(found)))
	})
}

// Addressed returns what stands for the address of each of these instances of a
// service, and the address, in turns, as strings.NewReplacer takes them.
func Addressed(name string, addresses []string) []string {
	if len(addresses) == 0 {
		return nil
	}
	pairs := []string{
		ServicePlaceholder(name), addresses[0],
		strings.TrimSuffix(ServicePlaceholder(name), "}") + "[*]}", strings.Join(addresses, ","),
	}
	for i, a := range addresses {
		pairs = append(pairs, InstancePlaceholder(name, i), a)
	}
	return pairs
}
