package service

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/lab"
	"github.com/scalebench/scalebench/internal/procself"
)

// owner is a process as names say it: "PID-START-MACHINE-BOOT-SPACE". A volume may be
// one of several machines or containers, and each counts its processes for itself.
type owner struct {
	lab.Owner
	machine string
}

// selfOwner is this process.
func selfOwner() (owner, error) {
	self, err := lab.Self()
	return owner{self, machine()}, err
}

// machine tells this machine from others, also after a restart; "0": that cannot be
// known. Copies of a machine or of a container's image have one machine id, but
// names of their own.
func machine() string {
	id := procself.ReadText("/etc/machine-id")
	host, err := os.Hostname()
	if err != nil || id == "" {
		return unknownMachine
	}
	return digest(id + " " + host)
}

const unknownMachine = "0"

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

func (o owner) String() string {
	return fmt.Sprintf("%d-%d-%s-%s-%s", o.PID, o.Start, o.machine, digest(o.Boot), digest(o.Space))
}

// left reports whether the process that a name begins with is known to be dead: one
// of this PID namespace that does not live, or one of this machine from before its
// restart. Processes of others cannot be seen from here.
func (o owner) left(name string) bool {
	f := strings.SplitN(name, "-", 6)
	if len(f) < 5 {
		return false
	}
	pid, err1 := strconv.Atoi(f[0])
	start, err2 := strconv.ParseUint(f[1], 10, 64)
	switch {
	case err1 != nil || err2 != nil:
		return false
	case f[3] != digest(o.Boot):
		return f[2] == o.machine && o.machine != unknownMachine
	}
	return f[4] == digest(o.Space) && !lab.Owner{PID: pid, Start: start, Boot: o.Boot, Space: o.Space}.Alive()
}
