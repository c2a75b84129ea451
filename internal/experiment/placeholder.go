package experiment

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v4"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
)

// standIn replaces a service's address in checks of parameters, because the
// address is only known when the lab is up. A lab gives such addresses.
const standIn = "10.213.0.1"

// withStandIns returns a copy of a value with an address instead of each
// ${service.NAME}. It reports names that no service has.
func (r *reader) withStandIns(v *value, path []string) *value {
	known := slices.Compact(slices.Sorted(slices.Values(r.serviceNames())))
	var fill func(v *value, path []string) *value
	fill = func(v *value, path []string) *value {
		out := *v
		if text := v.text(); text != "" {
			out.Tag, out.Value = "!!str", r.standIns(text, path, known)
		}
		out.Content = nil
		for key, val := range v.members() {
			out.Content = append(out.Content, (*yaml.Node)(key), (*yaml.Node)(fill(val, extend(path, key.Value))))
		}
		for i, item := range v.items() {
			out.Content = append(out.Content, (*yaml.Node)(fill(item, extend(path, strconv.Itoa(i)))))
		}
		return &out
	}
	return fill(v, path)
}

// serviceNames are the names that the file gives to services, whether or not
// the rest of each is right.
func (r *reader) serviceNames() []string {
	var names []string
	if list := r.root.get("services"); list != nil {
		for _, item := range list.items() {
			names = append(names, item.get("name").text())
		}
	}
	return names
}

func (r *reader) standIns(s string, path, known []string) string {
	return model.FillRefs(s, func(ref model.ServiceRef) string {
		if ref.Problem != "" {
			r.report(path, fmt.Sprintf("%q %s", clip(ref.Text), ref.Problem), "write ${service.NAME}, ${service.NAME[1]} or ${service.NAME[*]}")
		} else if !slices.Contains(known, ref.Name) {
			r.report(path, fmt.Sprintf("unknown service %q", clip(ref.Name)), servicesAllowed(ref.Name, known))
		}
		return standIn
	})
}

func servicesAllowed(name string, known []string) string {
	if len(known) == 0 {
		return "the file has no services"
	}
	all := "the services are " + strings.Join(known, ", ")
	if s := num.Suggest(name, known); s != "" {
		return fmt.Sprintf("did you mean %q? %s%s", s, strings.ToUpper(all[:1]), all[1:])
	}
	return all
}
