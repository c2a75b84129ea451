//go:build !linux

package lab

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"runtime"

	"github.com/scalebench/scalebench/internal/model"
)

// errPlatform is what everything answers where there are no namespaces.
func errPlatform() error {
	return fmt.Errorf("%w: a lab needs Linux (network namespaces, cgroups, loop devices), and this is %s; use processes instead of hosts (fleet: local)",
		model.ErrUnavailable, runtime.GOOS)
}

// Lab is a lab that is up. There is none on this platform.
type Lab struct{}

// Check says that labs need Linux.
func Check() error { return errPlatform() }

// Up says that labs need Linux.
func Up(context.Context, Config) (*Lab, error) { return nil, errPlatform() }

// Open says that labs need Linux.
func Open(string, string) (*Lab, error) { return nil, errPlatform() }

// List finds no labs.
func List(string, string) ([]Manifest, error) { return nil, nil }

// Sweep finds nothing to remove.
func Sweep(context.Context, string, string, *slog.Logger) error { return nil }

// Remove says that labs need Linux.
func Remove(context.Context, Manifest) error { return errPlatform() }

// LeftOver is false: there are no labs.
func (m Manifest) LeftOver() bool { return false }

// Self says that labs need Linux.
func Self() (Owner, error) { return Owner{}, errPlatform() }

// OwnerOf says that labs need Linux.
func OwnerOf(int) (Owner, error) { return Owner{}, errPlatform() }

// Alive is true: nothing is known about processes.
func (o Owner) Alive() bool { return true }

// LogPath is empty: there are no services.
func LogPath(Manifest, string) string { return "" }

// ID is empty.
func (l *Lab) ID() string { return "" }

// Manifest is empty.
func (l *Lab) Manifest() Manifest { return Manifest{} }

// Hosts returns none.
func (l *Lab) Hosts() []Host { return nil }

// Namespace is empty.
func (l *Lab) Namespace(model.NodeID) string { return "" }

// Volumes returns none.
func (l *Lab) Volumes(model.NodeID) map[string]string { return nil }

// SetLink says that labs need Linux.
func (l *Lab) SetLink(model.NodeID, bool) error { return errPlatform() }

// Dial says that labs need Linux.
func (l *Lab) Dial(context.Context, model.NodeID, string) (net.Conn, error) {
	return nil, errPlatform()
}

// Start says that labs need Linux.
func (l *Lab) Start(context.Context, model.NodeID, Process) (*Handle, error) {
	return nil, errPlatform()
}

// Down has nothing to remove.
func (l *Lab) Down(context.Context) error { return nil }
