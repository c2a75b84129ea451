package cli

import (
	"maps"

	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/render"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/levels"
	"github.com/scalebench/scalebench/internal/study/servicelevel"
)

// serviceLevelCommand holds the commands about what may be expected of rented services.
// Those that are questions are added to it.
func (c *common) serviceLevelCommand() *cobra.Command {
	cmd := newCommand("servicelevel", "which rented service is at its limit, and what may be expected of it",
		`A rented volume, link or processor has limits: operations a second, bytes a second.
"servicelevel pressure" says how close each service came to its limits, for how long,
and which one to raise. What may be expected is a model: "servicelevel models" shows
those that come with the program, "servicelevel measure" measures one.`,
		`  scalebench servicelevel models aws-gp3 --gib 100 --iops 6000
  scalebench servicelevel pressure iostat.json --model aws-gp3 --set gib=100
  scalebench servicelevel watch --model aws-gp3 --set gib=100 --alert 95%:60s`, nil)
	cmd.AddCommand(c.levelModels(), c.levelMeasure(), c.levelWatch())
	return cmd
}

func (c *common) levelModels() *cobra.Command {
	set := map[string]string{}
	cmd := newCommand("models [NAME|FILE]", "list the models of expected service levels, or show one",
		`Without a name it lists the models that come with the program. With the name of one,
or a model file, it shows what operations of each size may expect, which limit they
reach first, and how long a burst lasts.`,
		`  scalebench servicelevel models
  scalebench servicelevel models aws-gp2 --gib 100
  scalebench servicelevel models aws-io1 --gib 100 --iops 1800 --format json
  scalebench servicelevel models my-volume.yaml --set tier=P30 -o levels.html`, nil)
	inputs := map[string]*string{}
	for _, key := range []string{"gib", "iops", "throughput"} {
		inputs[key] = cmd.Flags().String(key, "", "input "+key+" of the model; the same as --set "+key+"=VALUE")
	}
	out := ""
	cmd.Flags().StringToStringVar(&set, "set", nil, "input of the model: `NAME=VALUE` (may be repeated)")
	cmd.Flag("set").DefValue = "" // none
	c.addOutput(cmd, &out)
	cmd.Args = atMostOneArg("the model")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			all, d := levels.List()
			return c.printOrSave(out, d, all)
		}
		given := map[string]string{}
		maps.Copy(given, set)
		for key, value := range inputs {
			if cmd.Flags().Changed(key) {
				given[key] = *value
			}
		}
		text, err := levels.FileText(args[0])
		if err != nil {
			return unreadable("the model", args[0], err)
		}
		m, err := levels.Open(args[0], text)
		if err != nil {
			return err
		}
		result, d, err := levels.Show(m, given)
		if err != nil {
			return err
		}
		return c.printOrSave(out, d, result)
	}
	return cmd
}

// printOrSave prints a document, or writes it to a file.
func (c *common) printOrSave(out string, d *doc.Document, result any) error {
	if out == "" || out == "-" {
		return c.print(d, result)
	}
	if err := checkReportPath(out); err != nil {
		return err
	}
	format, err := render.FormatOfFile(out)
	if err == nil {
		err = save(out, d, result, format)
	}
	if err != nil {
		return err
	}
	c.say("wrote %s", out)
	return nil
}

// levelMeasure runs an experiment file that asks what may be expected.
func (c *common) levelMeasure() *cobra.Command {
	cmd := c.runCommand()
	run := cmd.RunE
	cmd.Use, cmd.Short = "measure FILE", "measure what may be expected of volumes, as an experiment file says"
	cmd.Long = `Runs an experiment file whose study is servicelevel: each operation size and mix of
reads and writes is measured on each volume, in random order, until more depth gains
nothing. --dry-run shows the plan with its time and bytes. A run that was cut short is
resumed by "scalebench resume".`
	cmd.Example = `  scalebench servicelevel measure levels.yaml --dry-run
  scalebench servicelevel measure levels.yaml
  scalebench servicelevel measured latest --format json`
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 && args[0] != "-" {
			text, name, err := c.readFile(args[0])
			if err != nil {
				return err
			}
			set, err := cmd.Flags().GetStringArray("set")
			if err != nil {
				return err
			}
			exp, err := experiment.Parse(name, text, Kinds(), set)
			if err != nil {
				return err
			}
			if kind := servicelevel.Kind().Name; exp.Study == nil || exp.Study.Kind != kind {
				return usageError("%s does not ask what may be expected: its study is not %s; use `scalebench run %s`", name,
					kind, args[0])
			}
		}
		return run(cmd, args)
	}
	return cmd
}
