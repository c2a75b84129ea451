package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/answer"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/render"
	"github.com/scalebench/scalebench/internal/doc/term"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study"
)

// studyCommand is the command of a question: it asks the study about a run, or
// about a table that the user has, and prints the answer.
func (c *common) studyCommand(kind study.Kind) *cobra.Command {
	name := lastWord(kind.CommandName())
	use, file, out := name+" RUN", "", ""
	if kind.Optional {
		use = name + " [RUN]"
	}
	args := atMostOneArg("the run")
	if kind.Several {
		use, args = name+" [NAME=]RUN…", cobra.ArbitraryArgs
	}
	if kind.Table {
		use += " | " + name + " --csv FILE"
	}
	cmd := &cobra.Command{Use: use, Short: kind.Summary, Long: kind.Long, Example: kind.Example, Args: args}
	flags := addParams(cmd.Flags(), study.Parameters(kind.New()))
	if kind.Table {
		cmd.Flags().StringVar(&file, "csv", "", "analyse this file instead of a run (\"-\": standard input)")
	}
	c.addOutput(cmd, &out)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		q, err := c.question(cmd, kind, flags, out)
		if err != nil {
			return err
		}
		switch {
		case file != "" && len(args) > 0:
			return fmt.Errorf("%w: give a run or --csv FILE, not both", model.ErrUsage)
		case file != "" || len(args) == 0 && kind.Optional:
			return flags.place(c.printAnswer(out, func() (answer.Answer, error) { return c.answerWithoutRun(cmd.Context(), kind, q, file) }))
		case len(args) > 0:
			q.Run, q.More = args[0], args[1:]
		case kind.Table:
			return fmt.Errorf("%w: %s needs a run or --csv FILE; `scalebench runs` lists the runs", model.ErrUsage, name)
		default:
			return fmt.Errorf("%w: %s needs a run; `scalebench runs` lists them", model.ErrUsage, name)
		}
		return flags.place(c.withService(cmd.Context(), toRead, func(ctx context.Context, s service) error {
			return c.printAnswer(out, func() (answer.Answer, error) { return s.Answer(ctx, q) })
		}))
	}
	return cmd
}

// addOutput adds the flags that say where an answer goes, and how it is written.
func (c *common) addOutput(cmd *cobra.Command, out *string) {
	cmd.Flags().StringVarP(out, "output", "o", "", "write the answer to this file, in the format of its ending: .html, .md, .svg, .json, .csv or .txt")
	c.addFormat(cmd)
}

// question is what the flags of a study's command ask, whatever it is asked about.
func (c *common) question(cmd *cobra.Command, kind study.Kind, flags *paramFlags, out string) (answer.Question, error) {
	given, err := flags.given()
	if err == nil && cmd.Flags().Changed("format") {
		err = c.checkEnding(out)
	}
	return answer.Question{Study: kind.Name, Params: given, Bare: out == "" && c.formatFlag == string(render.FormatJSON)}, err
}

// answerWithoutRun asks about a table ("-": standard input), or about nothing
// but the parameters. Where those name runs, the server is asked.
func (c *common) answerWithoutRun(ctx context.Context, kind study.Kind, q answer.Question, file string) (a answer.Answer, err error) {
	var table io.Reader
	name := filepath.Base(file)
	switch file {
	case "":
	case "-":
		table, name = c.env.Stdin, "stdin"
	default:
		f, err := os.Open(file)
		if err != nil {
			return a, unreadable("--csv", file, err)
		}
		defer f.Close() //nolint:errcheck // read only
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return a, unreadable("--csv", file, syscall.EISDIR)
		}
		table = f
	}
	if kind.Optional && table != nil { // its parameters may name runs
		data, err := io.ReadAll(table)
		if err != nil {
			return a, fmt.Errorf("reading %s: %w", name, err)
		}
		q.Table, table = &answer.Table{Name: name, Data: data}, bytes.NewReader(data)
	}
	a, err = answer.WithoutRun(ctx, kind, q, name, table)
	if errors.Is(err, answer.ErrStored) {
		err = c.withService(ctx, toRead, func(ctx context.Context, s service) error {
			a, err = s.Answer(ctx, q)
			return err
		})
	}
	return a, err
}

// checkEnding refuses a --format that the file given with -o contradicts.
func (c *common) checkEnding(out string) error {
	if out == "" || out == "-" {
		return nil
	}
	f, err := render.FormatOfFile(out)
	if err == nil && string(f) != c.formatFlag {
		err = fmt.Errorf("%w: -o %s writes %s, but --format asks for %s; give one of the two", model.ErrUsage, out, f, c.formatFlag)
	}
	return err
}

// printAnswer prints an answer, or writes it to a file, and ends by its gate.
func (c *common) printAnswer(out string, ask func() (answer.Answer, error)) error {
	if err := checkReportPath(out); err != nil {
		return err
	}
	a, err := ask()
	if err != nil {
		return err
	}
	if out == "" || out == "-" {
		err = c.print(a.Document, a.Result)
	} else if err = saveAnswer(out, a); err == nil {
		c.say("wrote %s", out)
	}
	if err != nil {
		return err
	}
	return a.Err()
}

// print prints a document in the format of --format; result is what JSON has,
// nil for the document's table.
func (c *common) print(d *doc.Document, result any) error {
	f, err := render.ParseFormat(c.formatFlag)
	if err != nil {
		return err
	}
	to := c.env.Stdout
	if f == render.FormatText {
		to = term.NewPaintedWriter(c.env.rawOut).InASCII(c.env.ASCII)
	}
	return render.Write(to, d, result, f, c.textOptions())
}

func saveAnswer(path string, a answer.Answer) error {
	f, err := render.FormatOfFile(path)
	if err != nil {
		return err
	}
	return save(path, a.Document, a.Result, f)
}

// save writes a document to a file, which is there whole or not at all.
func save(path string, d *doc.Document, result any, format render.Format) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".scalebench-*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	err = render.Write(f, d, result, format, render.TextOptions{Width: render.PlainWidth})
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
