package experiment

import (
	yaml "go.yaml.in/yaml/v4"
)

// Setting is a key of a file of settings, with its place. The groups that keys
// stand in come before them.
type Setting struct {
	Path []string
	// Values are the value as text, or the entries of a list; Group says that
	// there are keys below instead.
	Values    []string
	Group     bool
	Line, Col int
}

// Settings reads a file of settings: keys with a value or a list of values, and
// groups of such keys. Which keys there are is the caller's to know. An empty
// file has none. The error is a model.InputErrors with everything that is wrong.
func Settings(name string, src []byte) ([]Setting, error) {
	probs := &problems{file: name}
	if !readable(src, probs) {
		return nil, probs.err()
	}
	if _, at, problem := loadOne(src); problem == emptyFile && at == (pos{}) {
		return nil, nil
	}
	file := readYAML(src, probs)
	if file == nil {
		return nil, probs.err()
	}
	d := newDecoder(file)
	var out []Setting
	if !d.root.isObject() {
		d.report(nil, "the file must be settings", "write KEY: VALUE, one a line")
	}
	d.settings(d.root, nil, &out)
	return out, probs.err()
}

func (d *decoder) settings(group *value, path []string, out *[]Setting) {
	for key, val := range group.members() {
		here := extend(path, key.Value)
		at := d.place(key)
		s := Setting{Path: here, Group: val.isObject(), Line: at.line, Col: at.col}
		switch {
		case val.isObject():
		case val.isArray():
			for _, item := range val.items() {
				if s.Values = append(s.Values, item.Value); !item.isText() {
					d.reportAt(d.place(item), here, "an entry must be a text, a number, true or false", "")
				}
			}
		case !val.isText():
			d.reportAt(at, here, "has no value", "write one, or remove the key")
		default:
			s.Values = []string{val.Value}
		}
		*out = append(*out, s)
		d.settings(val, here, out)
	}
}

// isText reports whether a value is one that text can be made of.
func (v *value) isText() bool {
	return v.isScalar() && (*yaml.Node)(v).ShortTag() != "!!null"
}
