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
// of all. They depend on nothing but the parameters, so that later tasks find them.
func (p *Params) stage(ctx context.Context, env *workload.Env) ([]string, error) {
	s, folder := p.Stage, cmp.Or(strings.TrimSuffix(p.Stage.Prefix, "/"), defaultStaged)+"/"
	keys := make([]string, s.Copies)
	for i := range keys {
		keys[i] = folder + store.NumberedID(fmt.Sprintf("%s|%s|%d", s.File, s.Make, s.Size), i)
	}
	sizes := map[string]int64{}
	if err := p.from.List(ctx, folder, func(key string, size int64) { sizes[key] = size }); err != nil {
		return nil, err
	}
	size, err := s.size()
	if err != nil {
		return nil, err
	}
	var missing []string
	for i := env.Part; i < len(keys); i += max(env.Parts, 1) {
		if had, ok := sizes[keys[i]]; !ok || size >= 0 && had != size {
			missing = append(missing, keys[i])
		}
	}
	if len(missing) == 0 {
		return keys, nil
	}
	file, err := p.object(ctx, env)
	if err != nil {
		return nil, fmt.Errorf("stage: %w", err)
	}
	env.Report.Stage("stage", model.StageBegun, fmt.Sprintf("%d of %d objects", len(missing), s.Copies))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(p.slots(), 4))
	for _, key := range missing {
		group.Go(func() error {
			_, err := p.from.PutFile(ctx, file, key)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		env.Report.Stage("stage", model.StageFailed, err.Error())
		return nil, fmt.Errorf("stage: putting %d objects: %w", len(missing), err)
	}
	env.Report.Stage("stage", model.StageDone, "")
	return keys, nil
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
	var own []string
	for i := env.Part; i < len(names); i += max(env.Parts, 1) {
		own = append(own, names[i])
	}
	return q.Publish(ctx, own)
}
