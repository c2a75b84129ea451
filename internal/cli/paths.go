package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// paths are the places below the data directory.
type paths struct{ root string }

// What is there.
const (
	lockName       = "lock"
	databaseName   = "scalebench.db"
	queueName      = "queue"
	serverKeyName  = "server.nk"
	clientKeyName  = "client.nk"
	authorityName  = "authority.json"
	serverInfoName = "server.json"
	agentsName     = "agents"
)

func (p paths) at(name ...string) string { return filepath.Join(append([]string{p.root}, name...)...) }

func (p paths) report(id string) string { return p.at("reports", id+".html") }

// remote holds the identity with which this user speaks to a server elsewhere.
func (p paths) remote(address string) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, strings.ToLower(address))
	return p.at("remotes", safe)
}

// otherData is what a user without a usable data directory can do.
const otherData = "give a directory that you can write with --" + dataDirFlag + " DIR or $SCALEBENCH_DATA"

// dataDir returns the data directory, which need not be there: --data, or
// $SCALEBENCH_DATA, or the user's data directory.
func (e Env) dataDir(flag string) (paths, error) {
	dir := cmp.Or(flag, e.Getenv("SCALEBENCH_DATA"))
	if dir == "" {
		base := e.Getenv("XDG_DATA_HOME")
		if base == "" {
			home := e.Getenv("HOME")
			if home == "" {
				return paths{}, errors.New("this command needs a data directory, and $HOME, in which it is, is not set; " + otherData)
			}
			base = filepath.Join(home, ".local", "share")
		}
		dir = filepath.Join(base, "scalebench")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return paths{}, fmt.Errorf("finding the data directory: %w", err)
	}
	return paths{dir}, nil
}

// needData makes the data directory for a command that keeps or reads something
// there. Commands that only read files need none.
func (c *common) needData() error {
	if c.noPaths != nil {
		return c.noPaths
	}
	if err := os.MkdirAll(c.paths.root, 0o700); err != nil {
		return fmt.Errorf("creating the data directory: %w; %s", err, otherData)
	}
	return nil
}
