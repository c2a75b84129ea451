package experiment

import (
	"fmt"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v4"

	"github.com/scalebench/scalebench/internal/doc/num"
)

// set applies the overrides to the tree, in order, and notes those that cannot
// be applied.
func (f *yamlFile) set(overrides []string) {
	for i, o := range overrides {
		at := pos{flag: "--set " + clip(o), order: i + 1}
		path, text, ok := strings.Cut(o, "=")
		if !ok || path == "" {
			f.probs.add(at, nil, "must be key.path=value", `such as trials=3 or workloads.cpu2.duration=2s`)
			continue
		}
		val := f.overrideValue(text, at)
		if val == nil {
			continue
		}
		f.assign(strings.Split(path, "."), val, at)
	}
}

// overrideValue parses the value of an override as YAML, so that true, 3 and
// [serial] mean what they mean in the file. It notes an error and returns nil
// when it cannot.
func (f *yamlFile) overrideValue(text string, at pos) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	if strings.TrimSpace(text) != "" {
		var probs problems
		sub := readYAML([]byte(text), &probs)
		if len(probs.list) > 0 {
			f.probs.add(at, nil, "the value is "+probs.list[0].Problem, "put text with special characters in quotes")
			return nil
		}
		n = sub.root
	}
	f.mark(n, at)
	return n
}

func (f *yamlFile) mark(n *yaml.Node, at pos) {
	f.origin[n] = at
	for _, c := range n.Content {
		f.mark(c, at)
	}
}

// assign puts a value at a path, or removes what is there when it is null.
func (f *yamlFile) assign(path []string, val *yaml.Node, at pos) {
	n := f.root
	for i, token := range path[:len(path)-1] {
		if n = f.step(n, token, path[:i], at); n == nil {
			return
		}
	}
	token := path[len(path)-1]
	switch n.Kind {
	case yaml.MappingNode:
		f.assignKey(n, token, val, at)
	case yaml.SequenceNode:
		if i := f.entry(n, token, path[:len(path)-1], at); i >= 0 {
			n.Content[i] = val
		}
	default:
		f.notGroup(n, path[:len(path)-1], at)
	}
}

// assignKey sets, adds or (null) removes a key of a mapping.
func (f *yamlFile) assignKey(n *yaml.Node, key string, val *yaml.Node, at pos) {
	i := keyIndex((*value)(n), key)
	switch {
	case val.ShortTag() == "!!null" && i >= 0:
		n.Content = append(n.Content[:i:i], n.Content[i+2:]...)
	case val.ShortTag() == "!!null":
	case i >= 0:
		val.HeadComment, val.LineComment = n.Content[i+1].HeadComment, n.Content[i+1].LineComment
		n.Content[i+1] = val
	default:
		k := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}
		f.origin[k] = at
		n.Content = append(n.Content, k, val)
	}
}

// step goes down one token of a path; a key that is missing or empty becomes a
// mapping.
func (f *yamlFile) step(n *yaml.Node, token string, path []string, at pos) *yaml.Node {
	switch n.Kind {
	case yaml.MappingNode:
		i := keyIndex((*value)(n), token)
		if i >= 0 && n.Content[i+1].ShortTag() != "!!null" {
			return n.Content[i+1]
		}
		sub := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		f.origin[sub] = at
		f.assignKey(n, token, sub, at)
		return sub
	case yaml.SequenceNode:
		if i := f.entry(n, token, path, at); i >= 0 {
			return n.Content[i]
		}
		return nil
	}
	f.notGroup(n, path, at)
	return nil
}

func (f *yamlFile) notGroup(n *yaml.Node, path []string, at pos) {
	f.probs.add(at, nil, fmt.Sprintf("%s is %q and has no keys", strings.Join(path, "."), clip(n.Value)), "")
}

// entry finds a list entry by its name, its kind, or its number from 0. It
// notes an error and returns -1 if there is none, or more than one.
func (f *yamlFile) entry(n *yaml.Node, token string, path []string, at pos) int {
	found, names := -1, []string{}
	for i, c := range n.Content {
		name := (*value)(c).entryName()
		names = append(names, name)
		if name != token {
			continue
		}
		if found >= 0 {
			f.probs.add(at, nil, fmt.Sprintf("%s has more than one entry named %q", strings.Join(path, "."), token), "give each entry its own name")
			return -1
		}
		found = i
	}
	if i, err := strconv.Atoi(token); found < 0 && err == nil && i >= 0 && i < len(n.Content) {
		return i
	}
	if found < 0 {
		f.probs.add(at, nil, fmt.Sprintf("%s has no entry %q", strings.Join(path, "."), token), entriesAllowed(token, names))
	}
	return found
}

func entriesAllowed(token string, names []string) string {
	allowed := fmt.Sprintf("use a name (%s) or a number from 0", strings.Join(names, ", "))
	if s := num.Suggest(token, names); s != "" {
		allowed = fmt.Sprintf("did you mean %q? %s", s, strings.ToUpper(allowed[:1])+allowed[1:])
	}
	return allowed
}
