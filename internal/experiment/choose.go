package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v4"
)

// Keys with which a file has alternatives: of its services only those stay that
// have no when, or the when that choose says.
const (
	chooseKey = "choose"
	whenKey   = "when"
)

// choose leaves out the services that were not chosen, and the key when of the
// others. So two alternatives may have one name, and what reads the file later
// knows nothing of them. It reports whether the choice is possible, and notes what
// is wrong with it.
func (f *yamlFile) choose() bool {
	before := len(f.probs.list)
	root := (*value)(f.root)
	services, chosen := root.get("services"), root.get(chooseKey)
	if services != nil && !services.isArray() {
		return true
	}
	if services == nil {
		services = &value{Kind: yaml.SequenceNode}
	}
	if chosen == nil {
		chosen = &value{Kind: yaml.MappingNode}
	}
	offered, alternatives := make(map[string][]string), 0
	keep := services.Content[:0:0]
	for i, s := range services.items() {
		when := s.get(whenKey)
		if when != nil {
			alternatives++
		}
		if when == nil || f.chosen(when, chosen, []string{"services", fmt.Sprint(i), whenKey}, offered) {
			f.assignKey((*yaml.Node)(s), whenKey, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}, pos{})
			keep = append(keep, services.Content[i])
		}
	}
	services.Content = keep
	for key, val := range chosen.members() {
		switch values := offered[key.Value]; {
		case alternatives == 0:
			f.probs.add(f.pos((*yaml.Node)(key)), []string{chooseKey, key.Value}, "no service has a when, so there is nothing to choose", "give the alternatives when: {"+key.Value+": …}, or remove choose")
		case len(offered) == 0: // what is wrong with their when was told
		case len(values) == 0:
			f.probs.add(f.pos((*yaml.Node)(key)), []string{chooseKey, key.Value}, "no service has it in its when", "choose among "+strings.Join(slices.Sorted(maps.Keys(offered)), ", "))
		case !slices.Contains(values, val.Value):
			f.probs.add(f.pos((*yaml.Node)(val)), []string{chooseKey, key.Value}, fmt.Sprintf("no service is there for %q", clip(val.Value)), "use "+strings.Join(values, ", "))
		}
	}
	return len(f.probs.list) == before
}

// withoutChoice is the root of a file in which choose says what was taken of alternatives
// that the file no longer has: as a comment, for there is nothing left to choose.
func (f *yamlFile) withoutChoice() *yaml.Node {
	at := keyIndex((*value)(f.root), chooseKey)
	if at < 0 {
		return f.root
	}
	var taken []string
	for key, val := range (*value)(f.root.Content[at+1]).members() {
		taken = append(taken, strings.Join(strings.Fields(key.Value+": "+val.Value), " ")) // in one line, as comments are
	}
	root := *f.root
	root.Content = slices.Delete(slices.Clone(root.Content), at, at+2)
	if i := keyIndex((*value)(&root), "services"); i >= 0 && len(taken) > 0 {
		key := *root.Content[i]
		key.HeadComment = strings.TrimPrefix(key.HeadComment+"\n# chosen were "+strings.Join(taken, ", "), "\n")
		root.Content[i] = &key
	}
	return &root
}

// chosen reports whether a service stays: all that its when names has one of the
// values that it gives. offered collects these.
func (f *yamlFile) chosen(when, choice *value, path []string, offered map[string][]string) bool {
	const allowed = "write when: {data: replicated}, and choose: {data: replicated} at the top of the file"
	switch {
	case !when.isObject():
		f.probs.add(f.pos((*yaml.Node)(when)), path, "must be a group of keys, not "+when.String(), allowed)
		return true
	case len(when.Content) == 0:
		f.probs.add(f.pos((*yaml.Node)(when)), path, "is empty", allowed)
		return true
	}
	stays := true
	for key, val := range when.members() {
		values := alternativesOf(val)
		if len(values) == 0 {
			f.probs.add(f.pos((*yaml.Node)(val)), extend(path, key.Value), "must be text, or a list of texts with one at least, not "+val.String(), fmt.Sprintf("write when: {%s: replicated}", key.Value))
			continue
		}
		for _, v := range values {
			if !slices.Contains(offered[key.Value], v) {
				offered[key.Value] = append(offered[key.Value], v)
			}
		}
		has := choice.get(key.Value)
		if has == nil {
			f.probs.add(f.pos((*yaml.Node)(key)), extend(path, key.Value), "nothing is chosen for it", fmt.Sprintf("write choose: {%s: %s} at the top of the file", key.Value, values[0]))
			continue
		}
		stays = stays && slices.Contains(values, has.Value)
	}
	return stays
}

// alternativesOf are the values that a key of a when gives: one, or those of a list;
// none where it gives something else.
func alternativesOf(v *value) (values []string) {
	if v.isScalar() {
		return []string{v.Value}
	}
	for _, item := range v.items() {
		if !item.isScalar() {
			return nil
		}
		values = append(values, item.Value)
	}
	return values
}

// choices are the overrides that change what is chosen: they come before others,
// which may name services by it.
func choices(set []string) (first, rest []string) {
	for _, s := range set {
		if strings.HasPrefix(s, chooseKey+".") || strings.HasPrefix(s, chooseKey+"=") {
			first = append(first, s)
		} else {
			rest = append(rest, s)
		}
	}
	return first, rest
}
