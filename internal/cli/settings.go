package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scalebench/scalebench/internal/doc/render"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
)

// The file of a user's settings holds defaults of flags: of all commands at its
// top, of one below its name. A flag that was given comes first, then the
// environment, then this file.

// envOf are the variables that stand for flags of all commands.
var envOf = map[string]string{
	"data": "SCALEBENCH_DATA", "store": "SCALEBENCH_STORE", "server": "SCALEBENCH_SERVER", "token": "SCALEBENCH_TOKEN",
}

// setting is a key of the file with the flag that it is the default of.
type setting struct {
	experiment.Setting
	cmd  *cobra.Command // the root for all commands
	flag *pflag.Flag    // nil: a group, or not one of the command's
}

// settings are those of a user.
type settings struct {
	file string
	list []setting
	// origin is where the value of a flag comes from, of those that are not
	// built in.
	origin map[*pflag.Flag]string
}

// settingsFile is the path of the file; "" where there can be none. named says
// that the user has named it.
func (e Env) settingsFile() (path string, named bool) {
	if file := e.Getenv("SCALEBENCH_CONFIG"); file != "" {
		return file, true
	}
	dir := e.Getenv("XDG_CONFIG_HOME")
	if home := e.Getenv("HOME"); dir == "" && home != "" {
		dir = filepath.Join(home, ".config")
	}
	if dir == "" {
		return "", false
	}
	return filepath.Join(dir, "scalebench", "config.yaml"), false
}

// configure reads the settings, and makes those of a command the values of its
// flags that were not given.
func (c *common) configure(cmd *cobra.Command) error {
	c.settings.origin = make(map[*pflag.Flag]string)
	file, named := c.env.settingsFile()
	if file == "" || file == os.DevNull {
		return nil
	}
	if _, err := os.Stat(file); err != nil && !named {
		return nil // it is not there, or in a home that is closed to a service
	}
	src, err := readSettings(file)
	if err != nil {
		return err
	}
	read, err := experiment.Settings(file, src)
	if err != nil {
		return err
	}
	c.settings.file = file
	var wrong model.InputErrors
	var refused string // a group that is none, with a NUL after each word
	for _, s := range read {
		path := strings.Join(s.Path, "\x00") + "\x00"
		if refused != "" && strings.HasPrefix(path, refused) {
			continue
		}
		own, bad := settingOf(cmd, s)
		if bad != nil && s.Group {
			refused = path
		}
		if bad == nil && own.flag != nil && (own.cmd == cmd || !own.cmd.HasParent()) {
			bad = c.apply(own)
		}
		if bad != nil {
			bad.File, bad.Line, bad.Col, bad.Path = file, s.Line, s.Col, strings.Join(s.Path, ".")
			wrong = append(wrong, bad)
		}
		c.settings.list = append(c.settings.list, own)
	}
	if len(wrong) > 0 {
		return wrong
	}
	return nil
}

// readSettings refuses a file that others can write: what stands in it decides
// which server gets what this user measures.
func readSettings(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, unreadable("the settings", file, err)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return nil, usageError("%s can be written by others; `chmod go-w '%s'` mends it", file, file)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return nil,
			usageError("%s belongs to another user, who can write it; `chown %d '%s'` mends it, or $SCALEBENCH_CONFIG names "+
				"another file", file, os.Geteuid(), file)
	}
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, unreadable("the settings", file, err)
	}
	return src, nil
}

// settingOf finds command and flag of a key. Of a word that is a command as well
// as a flag, such as server, a group is the command. The flag is nil where the
// running command has none of that name.
func settingOf(running *cobra.Command, s experiment.Setting) (setting, *model.InputError) {
	out := setting{Setting: s, cmd: running.Root()}
	groups, key := s.Path, ""
	if !s.Group {
		groups, key = s.Path[:len(s.Path)-1], s.Path[len(s.Path)-1]
	}
	for _, word := range groups {
		i := slices.IndexFunc(out.cmd.Commands(), func(sub *cobra.Command) bool { return sub.Name() == word && sub.IsAvailableCommand() })
		if i < 0 {
			return out, unknownSetting(out.cmd, word)
		}
		out.cmd = out.cmd.Commands()[i]
	}
	switch {
	case s.Group:
		return out, nil
	case key == "format" && !out.cmd.HasParent(): // a flag of many commands, one of which has other formats
		if f := running.Flags().Lookup(key); f != nil && f.DefValue == string(render.FormatText) {
			out.flag = f
		}
		return out, nil
	case key != "help" && key != "version":
		out.flag = cmp.Or(out.cmd.Flags().Lookup(key), running.Root().PersistentFlags().Lookup(key))
	}
	if out.flag == nil {
		return out, unknownSetting(out.cmd, key)
	}
	return out, nil
}

func unknownSetting(cmd *cobra.Command, word string) *model.InputError {
	known := []string{"format"}
	flags := cmd.Root().PersistentFlags()
	if cmd.HasParent() {
		known, flags = nil, cmd.LocalFlags()
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && !f.Hidden {
			known = append(known, f.Name)
		}
	})
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && !slices.Contains(known, sub.Name()) {
			known = append(known, sub.Name())
		}
	}
	slices.Sort(known)
	return &model.InputError{Problem: fmt.Sprintf("unknown key %q", word), Allowed: "known keys: " + strings.Join(known, ", ")}
}

// apply makes a setting the value of its flag, unless that was given or its
// variable is set.
func (c *common) apply(s setting) *model.InputError {
	env := envOf[s.flag.Name]
	given := s.flag.Changed || env != "" && c.env.Getenv(env) != ""
	for _, text := range s.Values {
		v, err := c.settingValue(s.flag.Name, text)
		switch {
		case err != nil || given:
		case s.flag.Name == "token" && !s.cmd.HasParent():
			c.keptToken = v // which, unlike the flag, does not mean a server elsewhere
		default:
			err = s.flag.Value.Set(v) // not Changed: it was not typed
		}
		if _, ok := errors.AsType[*strconv.NumError](err); ok {
			err = fmt.Errorf("%q does not fit a flag of type %s", text, s.flag.Value.Type())
		}
		if err != nil {
			return &model.InputError{Problem: strings.TrimPrefix(err.Error(), model.ErrUsage.Error()+": ")}
		}
	}
	if !given {
		c.settings.origin[s.flag] = s.place(c.settings.file)
	}
	return nil
}

func (s setting) place(file string) string { return fmt.Sprintf("%s:%d", file, s.Line) }

// settingValue checks what is a path: it would lead elsewhere from each directory.
func (c *common) settingValue(key, value string) (string, error) {
	at := ""
	switch key {
	case "format":
		_, err := render.ParseFormat(value)
		return value, err
	case "color":
		return value, oneOf(key, value, colors)
	case "token":
		var ok bool
		if value, ok = strings.CutPrefix(value, "@"); !ok {
			return "", errors.New("must be @FILE, a file that only you can read: a token is a secret")
		}
		at = "@"
	case "data", "nats-creds", "nats-nkey", "nats-ca":
	default:
		return value, nil
	}
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		value = filepath.Join(c.env.Getenv("HOME"), rest)
	}
	if !filepath.IsAbs(value) {
		return "", errors.New("must be a path that begins with / or ~/")
	}
	return at + value, nil
}
