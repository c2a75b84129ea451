package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/environ"
	"github.com/scalebench/scalebench/internal/model"
)

type service struct {
	host HostRecord
	log  string // path of the file with its output
	// dead is closed when it has ended, after err was set.
	dead chan struct{}
	err  error
}

// startServices starts all services, and then waits for all to be ready.
func (b *builder) startServices(ctx context.Context) error {
	defer func(began time.Time) { b.took = time.Since(began) }(time.Now())
	var all []*service
	for _, r := range b.manifest.Hosts {
		if r.Service == nil {
			continue
		}
		s, err := b.startService(ctx, r)
		if err != nil {
			return err
		}
		all = append(all, s)
	}
	ctx, cancel := context.WithTimeout(ctx, b.cfg.Ready)
	defer cancel()
	for _, s := range all {
		if err := b.awaitReady(ctx, s); err != nil {
			return err
		}
	}
	for _, s := range all {
		b.services.Go(func() { b.watch(s) })
	}
	return nil
}

func (b *builder) startService(ctx context.Context, r HostRecord) (*service, error) {
	name := string(r.Name)
	dir := filepath.Join(b.manifest.Dir, "service", name)
	s := &service{host: r, log: LogPath(b.manifest, name), dead: make(chan struct{})}
	for _, d := range []string{dir, filepath.Dir(s.log)} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
	}
	out, err := os.OpenFile(s.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close() //nolint:errcheck // the service has its own
	all := b.cfg.Environ
	if missing := environ.Missing(all, r.Service.PassEnv); len(missing) > 0 {
		return nil, fmt.Errorf("%w: service %s: pass_env names %s, which the server's environment lacks: set it where the server starts",
			model.ErrUsage, name, strings.Join(missing, ", "))
	}
	env := environ.Pick(all, r.Service.PassEnv, nil)
	for k, v := range r.Service.Environ {
		env = append(env, k+"="+v)
	}
	// It lives for as long as the lab, not for as long as building it.
	cmd, err := b.Start(context.WithoutCancel(ctx), r.Name, Process{
		Args:    []string{"/bin/sh", "-c", r.Service.Command},
		Environ: append(env, "SCALEBENCH_ADDRESS="+r.Address, "SCALEBENCH_DIR="+dir),
		Dir:     dir, Stdout: out, Stderr: out,
	})
	if err != nil {
		return nil, fmt.Errorf("service %s: %w", name, err)
	}
	b.services.Go(func() {
		s.err = cmd.Wait()
		close(s.dead)
	})
	return s, nil
}

// LogPath is the file that holds what a service has printed.
func LogPath(m Manifest, service string) string {
	return filepath.Join(m.Dir, "log", service+".log")
}

// awaitReady waits until a service accepts connections from another host, so
// that one which listens on the wrong address is not ready.
func (b *builder) awaitReady(ctx context.Context, s *service) error {
	if s.host.Service.Port == 0 {
		return nil
	}
	address := s.host.Address + ":" + strconv.Itoa(s.host.Service.Port)
	from := b.manifest.Hosts[0].Name // nodes come first, and every lab has one
	look := time.NewTicker(5 * lookTime)
	defer look.Stop()
	for {
		attempt, cancel := context.WithTimeout(ctx, time.Second)
		conn, err := b.Dial(attempt, from, address)
		cancel()
		if err == nil {
			return conn.Close()
		}
		select {
		case <-s.dead:
			return s.death()
		case <-ctx.Done():
			return fmt.Errorf("service %s does not accept connections on %s: %w%s; make it listen on $SCALEBENCH_ADDRESS", s.host.Name, address, err, s.lastLines())
		case <-look.C:
		}
	}
}

// watch tells when a service ends although the lab is up.
func (l *Lab) watch(s *service) {
	select {
	case <-l.up.Done():
	case <-s.dead:
	}
	if l.up.Err() != nil { // that is why, if it ended
		return
	}
	err := s.death()
	l.log.Warn("service ended", "lab", l.ID(), "service", s.host.Name, "error", err)
	if l.ended != nil {
		l.ended(err)
	}
}

func (s *service) death() error {
	how := "exit code 0"
	if s.err != nil {
		how = s.err.Error()
	}
	return fmt.Errorf("%w: service %s ended: %s%s", model.ErrUnavailable, s.host.Name, how, s.lastLines())
}

// lastLines is the end of the service's log, as the end of a message.
func (s *service) lastLines() string {
	const lines, bytes = 10, 4096
	data, err := os.ReadFile(s.log)
	if err != nil || len(strings.TrimSpace(string(data))) == 0 {
		return "; it printed nothing"
	}
	all := strings.Split(strings.TrimSpace(string(data[max(0, len(data)-bytes):])), "\n")
	return "; it last printed:\n\t" + strings.Join(all[max(0, len(all)-lines):], "\n\t")
}
