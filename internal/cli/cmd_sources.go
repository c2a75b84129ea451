package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/answer"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/frame/files"
	"github.com/scalebench/scalebench/internal/study"
)

// sourcesCommand is the command of a question about measurements, wherever they
// came from: runs, campaigns, files.
func (c *common) sourcesCommand(kind study.Kind) *cobra.Command {
	name := lastWord(kind.CommandName())
	params := kind.New()
	out := ""
	cmd := &cobra.Command{Use: name + usageOfSources(kind.Takes(params)), Short: kind.Summary, Long: kind.Long,
		Example: kind.Example}
	flags := addParams(cmd.Flags(), study.Parameters(params))
	c.addOutput(cmd, &out)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		q, err := c.question(cmd, kind, flags, out)
		if err != nil {
			return err
		}
		s := kind.New()
		if err := answer.Set(study.Registry{kind}, s, q.Params); err != nil {
			return err
		}
		takes := kind.Takes(s)
		if len(args) == 0 {
			return takes.Check(0)
		}
		return c.printAnswer(out, func() (answer.Answer, error) { return c.answerSources(cmd.Context(), kind, q, takes, args) })
	}
	return cmd
}

// usageOfSources is what a command takes.
func usageOfSources(t study.Takes) string {
	switch {
	case t.Named:
		return " NAME|FILE"
	case t.Read != nil:
		return " SOURCE…"
	case t.Least > 1:
		return " A B… (RUN|CAMPAIGN|FILE)"
	}
	return " RUN|CAMPAIGN|FILE…"
}

// tableGC is the collector's percentage while tables are analysed: their columns are
// large and hold no pointers, so that collecting often costs next to nothing and
// saves a third of the memory.
const tableGC = 10

// answerSources reads the sources that are files, and asks where the others are.
func (c *common) answerSources(ctx context.Context, kind study.Kind, q answer.Question, takes study.Takes, args []string) (answer.Answer, error) {
	stored := false
	choice := takes.Choice
	watch := c.watchLong(ctx, "reading "+num.List(args))
	defer watch.close()
	if c.env.Getenv("GOGC") == "" { // a user who sets it decides
		defer debug.SetGCPercent(debug.SetGCPercent(tableGC))
	}
	all := slices.Concat(args, takes.Also)
	names := sourceNames(all)
	for i, arg := range all {
		if i == len(args) {
			choice.Beside = true
		}
		// a name may be that of a folder's file
		if takes.Address(arg) || c.isFile(arg) && (!takes.Named || study.FileLike(arg)) {
			x, err := c.readSource(ctx, arg, names[i], takes, choice)
			if err != nil {
				return answer.Answer{}, err
			}
			q.Sources = append(q.Sources, answer.Source{Source: x})
			continue
		}
		stored = true
		q.Sources = append(q.Sources, answer.Source{Source: study.Source{Name: arg}, Stored: true})
	}
	if !stored {
		q.Progress = watch.progress
		watch.say("analysing")
		return answer.Ask(ctx, kind, q)
	}
	watch.close()
	var a answer.Answer
	err := c.withService(ctx, toRead, func(ctx context.Context, s service) (err error) {
		a, err = s.Answer(ctx, q)
		return err
	})
	return a, err
}

// isFile reports whether an argument names a file rather than something stored:
// it is one, or it looks like none of the names that are stored.
func (c *common) isFile(arg string) bool {
	if info, err := os.Stat(arg); err == nil && !info.IsDir() {
		return true
	}
	return study.FileLike(arg)
}

// standardInput is what the source "-" is called.
const standardInput = "stdin"

// sourceNames are what sources are called: a file by its name without folders, unless
// another source is called so. Then each has as many of its folders as tell them apart,
// or all, where the same file is given twice.
func sourceNames(args []string) []string {
	paths := make([]string, len(args))
	for i, arg := range args {
		if paths[i] = standardInput; arg == "-" {
			continue
		}
		if paths[i] = arg; study.FileLike(arg) {
			paths[i] = filepath.Clean(arg)
		}
		for k := range i {
			if sameFile(args[k], arg) {
				paths[i] = paths[k]
			}
		}
	}
	names := make([]string, len(args))
	for i, path := range paths {
		names[i] = filepath.Base(path)
		for depth := 2; names[i] != path && slices.ContainsFunc(paths, func(other string) bool {
			return other != path && lastParts(other, depth-1) == names[i]
		}); depth++ {
			names[i] = lastParts(path, depth)
		}
		if args[i] != "-" && names[i] == standardInput && slices.Contains(args, "-") {
			names[i] = standardInput + " (file)"
		}
	}
	return names
}

// lastParts is the end of a path: so many names of it.
func lastParts(path string, n int) string {
	at := len(path)
	for ; n > 0 && at > 0; n-- {
		at = strings.LastIndexByte(path[:at], filepath.Separator)
	}
	return path[max(at, -1)+1:]
}

// sameFile reports whether two arguments name one file.
func sameFile(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// readSource reads a file ("-": standard input) or an address, which is called name.
func (c *common) readSource(ctx context.Context, arg, name string, takes study.Takes,
	choice frame.Choice) (x study.Source, err error) {
	read := func(in io.Reader) (study.Source, error) {
		if takes.Read != nil {
			x.Own, err = takes.Read(ctx, x.Name, in)
			return x, err
		}
		x.Frames, x.Told, err = files.Read(ctx, x.Name, in, choice, files.Limits{})
		return x, err
	}
	x.Name = name
	switch {
	case takes.Address(arg):
		x.Name = arg
		return read(nil)
	case arg == "-":
		return read(c.env.Stdin)
	}
	f, err := os.Open(arg)
	if err != nil {
		return x, fmt.Errorf("%w, or a run (`scalebench runs` lists them)", unreadable("source", arg, err))
	}
	defer f.Close() //nolint:errcheck // read only
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return x, unreadable("source", arg, syscall.EISDIR)
	}
	return read(f)
}
