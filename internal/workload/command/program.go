package command

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/workload"
)

// Tools implements workload.ToolUser: the shell, and the program that the
// command calls first.
func (p *Params) Tools() (tools []workload.Tool) {
	if p.Shell != DefaultShell {
		tools = append(tools, workload.Tool{Name: p.Shell})
	}
	if name := p.program(); name != "" {
		path := p.Path
		if path == "" {
			path = p.Env["PATH"]
		}
		tools = append(tools, workload.Tool{Name: name, Path: path})
	}
	return tools
}

// MayInstall implements workload.Installer: whatever is not a plain call of a
// known benchmark may, or one with filters behind it.
func (p *Params) MayInstall() bool {
	text := strings.ReplaceAll(strings.TrimSpace(p.Command), "2>&1", "")
	if strings.ContainsAny(text, "&;<>()`$\n") {
		return true
	}
	return slices.ContainsFunc(strings.Split(text, "|"), func(part string) bool {
		words := strings.Fields(part)
		return len(words) == 0 || !workload.Benchmark(words[0]) && !slices.Contains(strings.Fields(harmless), words[0])
	})
}

const (
	// harmless are filters, and what commands are tried with.
	harmless = "true false sleep echo printf date hostname uname sha256sum cat cut grep head sort tail tr wc"

	// builtins are the words that shells take for their own, or that may be:
	// then nothing is looked for.
	builtins = `. : [ [[ ! { alias bg bind break builtin case cd command continue coproc declare dirs disown do done
		echo elif else enable esac eval exit export false fc fg fi for function getopts hash help history if in jobs kill
		let local logout mapfile popd printf pushd pwd read readarray readonly return select set shift shopt source
		suspend test then time times trap true type typeset ulimit umask unalias unset until wait while }`
)

var (
	assignment = regexp.MustCompile("^([A-Za-z_][A-Za-z0-9_]*)=[^'\"`$\\\\(]*$")
	plainName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.+-]*$`)
)

// program is the program that the shell starts first, if it is certain that the
// command cannot do without: empty for a builtin, for a path, which an earlier
// step may make, and where the command may have another way.
func (p *Params) program() string {
	if !slices.Contains([]string{"sh", "bash", "dash", "ash"}, filepath.Base(p.Shell)) {
		return ""
	}
	text := strings.TrimSpace(p.Command)
	// What remains of &, once redirections and conditions are out, is a command
	// in the background.
	if strings.ContainsAny(strings.NewReplacer(">&", "", "&>", "", "&&", "").Replace(text), "&;\n") || strings.Contains(text, "||") {
		return ""
	}
	for _, word := range strings.Fields(text) {
		a := assignment.FindStringSubmatch(word)
		switch {
		case a != nil && a[1] == "PATH", a == nil && (!plainName.MatchString(word) || slices.Contains(strings.Fields(builtins), word)):
			return ""
		case a == nil:
			return word
		}
	}
	return ""
}
