//go:build !linux

package lab

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os/exec"
	"runtime"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// errPlatform is what everything answers where there are no namespaces.
func errPlatform() error {
	return fmt.Errorf("%w: a lab needs Linux (network namespaces, cgroups, loop devices), and this is %s; use processes instead of hosts (fleet: local)",
		model.ErrUnavailable, runtime.GOOS)
}

// The contracts are those of Linux (lab_linux.go and others). Here nothing can
// be built, and there is nothing to list, to remove or to look at.

type Lab struct{}

func Check() error                                              { return errPlatform() }
func CheckDelay(Spec, []Service) error                          { return nil }
func Up(context.Context, Config) (*Lab, error)                  { return nil, errPlatform() }
func Open(string, string) (*Lab, error)                         { return nil, errPlatform() }
func List(string, string) ([]Manifest, error)                   { return nil, nil }
func Sweep(context.Context, string, string, *slog.Logger) error { return nil }
func Remove(context.Context, Manifest) error                    { return errPlatform() }
func LogPath(Manifest, string) string                           { return "" }

func Self() (Owner, error) { return Owner{}, errPlatform() }

// Alive is true: nothing is known about processes.
func (o Owner) Alive() bool       { return true }
func (m Manifest) LeftOver() bool { return false }

func (l *Lab) ID() string                             { return "" }
func (l *Lab) ServicesTook() time.Duration            { return 0 }
func (l *Lab) Manifest() Manifest                     { return Manifest{} }
func (l *Lab) Volumes(model.NodeID) map[string]string { return nil }
func (l *Lab) Down(context.Context) error             { return nil }
func (l *Lab) Shape(model.Shape) (model.Shape, error) { return model.Shape{}, errPlatform() }
func (l *Lab) Shaped() (model.Shape, error)           { return model.Shape{}, errPlatform() }
func (l *Lab) Dial(context.Context, model.NodeID, string) (net.Conn, error) {
	return nil, errPlatform()
}
func (l *Lab) Start(context.Context, model.NodeID, Process) (*exec.Cmd, error) {
	return nil, errPlatform()
}
