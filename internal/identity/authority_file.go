package identity

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
)

// authorityFile is the stored form. It holds public keys only.
type authorityFile struct {
	Version int          `json:"version"`
	Grants  []Grant      `json:"grants"`
	Tokens  []*openToken `json:"tokens"`
}

const authorityVersion = 1

func (a *Authority) load() error {
	if err := privateDir(filepath.Dir(a.path)); err != nil {
		return err
	}
	data, err := readPrivate(a.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f, err := parseAuthority(data)
	if err != nil {
		return err
	}
	for _, g := range f.Grants {
		a.grants[g.Key] = g
	}
	for _, t := range f.Tokens {
		a.tokens[t.Key] = t
	}
	return nil
}

// parseAuthority reads the stored form and refuses what it does not fully
// understand: guessing here would admit somebody.
func parseAuthority(data []byte) (authorityFile, error) {
	var f authorityFile
	if err := json.Unmarshal(data, &f); err != nil {
		return f, fmt.Errorf("damaged: %w; restore it, or remove it and let the agents join again", err)
	}
	if f.Version != authorityVersion {
		return f, fmt.Errorf("version %d, this scalebench knows %d", f.Version, authorityVersion)
	}
	for _, g := range f.Grants {
		if err := errors.Join(g.Node.Validate(), CheckPublic(g.Key, g.Role)); err != nil {
			return f, err
		}
		if g.Role != RoleAgent && g.Role != RoleClient {
			return f, fmt.Errorf("unknown role %q", g.Role)
		}
	}
	for _, t := range f.Tokens {
		if t == nil {
			return f, errors.New("damaged: an empty token")
		}
		if err := CheckPublic(t.Key, t.Role); err != nil {
			return f, err
		}
	}
	return f, nil
}

// save writes the list; the caller holds the lock.
func (a *Authority) save() error {
	f := authorityFile{Version: authorityVersion}
	for _, g := range a.grants {
		f.Grants = append(f.Grants, g)
	}
	for _, t := range a.tokens {
		f.Tokens = append(f.Tokens, t)
	}
	sort.Slice(f.Grants, func(i, j int) bool { return f.Grants[i].Key < f.Grants[j].Key })
	sort.Slice(f.Tokens, func(i, j int) bool { return f.Tokens[i].Key < f.Tokens[j].Key })
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the list of admitted keys: %w", err)
	}
	if err := WritePrivate(a.path, append(data, '\n')); err != nil {
		return fmt.Errorf("writing the list of admitted keys: %w", err)
	}
	return nil
}
