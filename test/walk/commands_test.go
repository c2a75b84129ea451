package walk

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// commandTree returns the flags of every command that help names, by the
// command's name ("lab up"; "" is the program), with their dashes.
func commandTree(t *testing.T) map[string][]string {
	t.Helper()
	tree := make(map[string][]string)
	addCommand(t, tree, "")
	return tree
}

func addCommand(t *testing.T, tree map[string][]string, name string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "scalebench", append(strings.Fields(name), "--help")...).Output()
	if err != nil {
		t.Fatalf("%s --help: %v", name, err)
	}
	section := "" // the words before the usage
	for line := range strings.Lines(string(out)) {
		switch heading := strings.TrimSuffix(line, ":\n"); {
		case heading != line && !strings.HasPrefix(line, " "):
			section = heading
		case strings.HasSuffix(section, "Flags"):
			if m := flagLine.FindStringSubmatch(line); m != nil {
				tree[name] = append(tree[name], m[1:]...)
			}
		case section != "" && section != "Usage" && section != "Examples" && tree[name] == nil: // a list of commands
			if m := commandLine.FindStringSubmatch(line); m != nil && m[1] != "help" {
				addCommand(t, tree, strings.TrimSpace(name+" "+m[1]))
			}
		}
	}
}

var (
	flagLine    = regexp.MustCompile(`^ +(?:(-\w), )?(--[\w-]+)`)
	commandLine = regexp.MustCompile(`^  (\w+) {2,}\S`)
)

// typed is what pages may type: commands and flags of scalebench, targets of
// make, tests.
type typed struct {
	t    *testing.T
	tree map[string][]string
	make string
}

func newTyped(t *testing.T) *typed {
	t.Helper()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	return &typed{t: t, tree: commandTree(t), make: string(makefile)}
}

// check returns what is wrong with a command line, or "".
func (k *typed) check(line string) string {
	line, _, _ = strings.Cut(line, " #")
	words := strings.Fields(line)
	for i, w := range words {
		rest := words[i+1:]
		if end := slices.IndexFunc(rest, isEnd); end >= 0 {
			rest = rest[:end]
		}
		wrong := ""
		switch {
		case (w == "scalebench" || w == "bin/scalebench") && (i == 0 || words[i-1] != "-u"): // it is a user, too
			wrong = k.program(rest)
		case i == 0 && w == "make":
			wrong = k.targets(rest)
		case w == "go" && len(rest) > 0 && rest[0] == "test":
			wrong = goTest(rest[1:])
		}
		if wrong != "" {
			return wrong
		}
	}
	return ""
}

// isEnd reports where another command begins.
func isEnd(word string) bool {
	return slices.Contains([]string{"|", "||", "&&", ";", "--", "-args"}, word) || strings.HasPrefix(word, ">")
}

// program checks what follows the word scalebench.
func (k *typed) program(words []string) string {
	for len(words) > 1 && slices.Contains(k.tree[""], words[0]) { // --data DIR, say
		words = words[2:]
	}
	names := []string{""}
	for len(words) > 0 && !strings.HasPrefix(words[0], "-") {
		var next []string
		for _, name := range names {
			for word := range strings.SplitSeq(words[0], "|") {
				next = append(next, strings.TrimSpace(name+" "+word))
			}
		}
		if k.tree[next[0]] == nil {
			break // an argument, or the name of none
		}
		names, words = next, words[1:]
	}
	for _, name := range names {
		switch flags, known := k.tree[name]; {
		case !known:
			return "there is no command " + name
		case name == "" && len(words) > 0 && commandWord.MatchString(words[0]):
			return "there is no command " + words[0]
		default:
			for _, w := range words {
				if flag := flagWord.FindString(w); flag != "" && !slices.Contains(flags, flag) {
					return "scalebench " + name + " has no flag " + flag
				}
			}
		}
	}
	return ""
}

var (
	commandWord = regexp.MustCompile(`^[a-z]+$`)
	flagWord    = regexp.MustCompile(`^(?:--[a-z][a-z0-9-]*|-[A-Za-z])\b`)
)

// anyFlag reports whether some command has a flag.
func (k *typed) anyFlag(flag string) bool {
	for _, flags := range k.tree {
		if slices.Contains(flags, flag) {
			return true
		}
	}
	return false
}

func (k *typed) targets(words []string) string {
	for _, w := range words {
		if !strings.Contains(w, "=") && !regexp.MustCompile(`(?m)^([\w-]+ )*`+regexp.QuoteMeta(w)+`( [\w-]+)*:`).MatchString(k.make) {
			return "the Makefile has no target " + w
		}
	}
	return ""
}

var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w*)\(`)

// goTest checks that each package exists, and that each pattern finds something
// there.
func goTest(words []string) string {
	var found []string
	for _, w := range words {
		if !strings.HasPrefix(w, "./") {
			continue
		}
		dir := filepath.Join(root, strings.TrimSuffix(w, "/..."))
		files, _ := filepath.Glob(filepath.Join(dir, "*_test.go"))
		deeper, _ := filepath.Glob(filepath.Join(dir, "*", "*_test.go"))
		if files = append(files, deeper...); len(files) == 0 {
			return "no tests in " + w
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err.Error()
			}
			for _, m := range testFunction.FindAllStringSubmatch(string(text), -1) {
				found = append(found, m[1])
			}
		}
	}
	for i, w := range words[:max(len(words)-1, 0)] {
		first, _, _ := strings.Cut(strings.Trim(words[i+1], "'"), "/")
		if w != "-run" && w != "-bench" || first == "^$" || len(found) == 0 {
			continue
		}
		pattern, err := regexp.Compile(first)
		if err != nil {
			return err.Error()
		}
		if !slices.ContainsFunc(found, pattern.MatchString) {
			return "no test or benchmark matches " + words[i+1]
		}
	}
	return ""
}
