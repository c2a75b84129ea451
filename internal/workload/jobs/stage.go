package jobs

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	store "github.com/scalebench/scalebench/internal/load/objectstore"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// stage puts this node's part of the copies that are not there yet, and returns the keys
// of all.
func (p *Params) stage(ctx context.Context, env *workload.Env) ([]string, error) {
	keys := p.Stage.keys()
	missing, err := p.missing(ctx, ownPart(keys, env))
	if err != nil || len(missing) == 0 {
		return keys, err
	}
	file, err := p.object(ctx, env)
	if err != nil {
		return nil, fmt.Errorf("stage: %w", err)
	}
	env.Report.Stage("stage", model.StageBegun, fmt.Sprintf("%d of %d objects", len(missing), len(keys)))
	if err := p.putCopies(ctx, file, missing); err != nil {
		env.Report.Stage("stage", model.StageFailed, err.Error())
		return nil, fmt.Errorf("stage: putting %d objects: %w", len(missing), err)
	}
	env.Report.Stage("stage", model.StageDone, "")
	return keys, nil
}

// ownPart are those of all nodes' things that this node puts or sends.
func ownPart(things []string, env *workload.Env) (own []string) {
	for i := env.Part; i < len(things); i += env.Parts {
		own = append(own, things[i])
	}
	return own
}

func (s *Stage) folder() string {
	return cmp.Or(strings.TrimSuffix(s.Prefix, "/"), defaultStaged) + "/"
}

// keys depend on nothing but the parameters, so that later tasks find the copies.
func (s *Stage) keys() []string {
	keys, folder := make([]string, s.Copies), s.folder()
	for i := range keys {
		keys[i] = folder + store.NumberedID(fmt.Sprintf("%s|%s|%d", s.File, s.Make, s.Size), i)
	}
	return keys
}

// missing are those of the keys under which there is no object, or one of another size.
func (p *Params) missing(ctx context.Context, keys []string) (missing []string, err error) {
	sizes := map[string]int64{}
	err = p.from.List(ctx, p.Stage.folder(), func(key string, size int64) { sizes[key] = size })
	if err != nil {
		return nil, err
	}
	size, err := p.Stage.size()
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if had, ok := sizes[key]; !ok || size >= 0 && had != size {
			missing = append(missing, key)
		}
	}
	return missing, nil
}

// putCopies puts a file under each of these keys.
func (p *Params) putCopies(ctx context.Context, file string, keys []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(p.slots(), 4))
	for _, key := range keys {
		group.Go(func() error {
			_, _, err := p.from.PutFile(ctx, file, key)
			return err
		})
	}
	return group.Wait()
}

// size is that of the object; -1 where only making it tells.
func (s *Stage) size() (int64, error) {
	switch {
	case s.Size > 0:
		return s.Size.Bytes(), nil
	case s.Make != "":
		return -1, nil
	}
	info, err := os.Stat(s.File)
	if err != nil {
		return 0, fmt.Errorf("stage.file: %w", err)
	}
	return info.Size(), nil
}

// object returns a file with what is put.
func (p *Params) object(ctx context.Context, env *workload.Env) (string, error) {
	s := p.Stage
	if s.File != "" {
		return s.File, nil
	}
	path := filepath.Join(env.Dir, "staged")
	if s.Make != "" {
		c := execution{text: s.Make, dir: env.Dir, out: path, environ: p.environ(env)}
		_, err := c.run(ctx)
		if err == nil {
			_, err = os.Stat(path)
		}
		return path, err
	}
	file, err := os.Create(path)
	if err != nil {
		return "", err
	}
	_, err = io.CopyN(file, rand.Reader, s.Size.Bytes())
	return path, cmp.Or(err, file.Close())
}

// announce sends messages of the staged objects, where nothing else does.
func (p *Params) announce(ctx context.Context, env *workload.Env, q *messages, names []string) error {
	switch {
	case p.Stage == nil || !p.Stage.Announce:
		return nil
	case p.Duration > 0:
		if env.Part == 0 {
			p.names = names // Run sends them
		}
		return nil
	}
	_, err := q.Publish(ctx, ownPart(names, env))
	return err
}
