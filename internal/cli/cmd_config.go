package cli

import (
	"cmp"
	"context"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/record"
)

func (c *common) configCommand() *cobra.Command {
	var cmd *cobra.Command
	cmd = newCommand("config", "show the effective settings, and where each comes from",
		`Shows the values of the flags of all commands, and the defaults of your own for
single commands. They come, in this order, from a flag, from the environment, from
the file of your settings, or they are built in.

The file is $SCALEBENCH_CONFIG, or scalebench/config.yaml in $XDG_CONFIG_HOME or
~/.config. Its keys are flags; below the name of a command stand flags of its own:

  server: nats://10.0.0.5:4222
  color: never
  capacity:
    window: 20s

Only you may be able to write it.`,
		`  scalebench config
  SCALEBENCH_CONFIG=./ci.yaml scalebench config`,
		func(context.Context, []string) error {
			return c.print(c.configDocument(cmd), nil)
		})
	c.addFormat(cmd)
	return cmd
}

func (c *common) configDocument(cmd *cobra.Command) *doc.Document {
	t := &doc.Table{Columns: []doc.Column{{Key: "setting", Head: "setting"}, {Key: "value", Head: "value"}, {Key: "from", Head: "from"}}}
	add := func(f *pflag.Flag) {
		t.Add(doc.Say(f.Name), doc.Say(c.shownValue(f)), doc.Say(c.originOf(f)))
	}
	cmd.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != dataDirFlag { // data stands there
			add(f)
		}
	})
	add(cmd.Flags().Lookup("format"))
	for _, s := range c.settings.list {
		if s.cmd.HasParent() && s.flag != nil {
			values := make([]string, len(s.Values))
			for i, v := range s.Values {
				values[i] = withoutSecret(s.flag.Name, v)
			}
			t.Add(doc.Say(commandName(s.cmd)+" --"+s.flag.Name), doc.Say(strings.Join(values, " ")), doc.Say(s.place(c.settings.file)))
		}
	}
	return record.Listing(t, "")
}

// shownValue is what a flag of all commands amounts to, secrets apart.
func (c *common) shownValue(f *pflag.Flag) string {
	value := map[string]string{
		"data": c.paths.root, "store": c.storeURL, "server": c.serverAddr,
		"token": cmp.Or(c.flags.Token, c.env.Getenv(envOf["token"]), c.keptToken),
	}[f.Name]
	return withoutSecret(f.Name, cmp.Or(value, f.Value.String()))
}

// withoutSecret hides passwords, tokens and headers, which may hold either; the
// file of a token is no secret.
func withoutSecret(key, value string) string {
	switch u, err := url.Parse(value); {
	case value == "":
		return ""
	case key == "token" && !strings.HasPrefix(value, "@"), key == "header":
		return "***"
	case key != "store" && key != "server":
		return value
	case err != nil:
		return "***"
	default:
		return u.Redacted()
	}
}

func (c *common) originOf(f *pflag.Flag) string {
	switch {
	case f.Changed:
		return "flag"
	case envOf[f.Name] != "" && c.env.Getenv(envOf[f.Name]) != "":
		return "$" + envOf[f.Name]
	}
	return cmp.Or(c.settings.origin[f], "built in")
}
