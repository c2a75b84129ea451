package runner

import (
	"fmt"
	"time"
)

// cookie is a variable in the environment of everything that a workload starts.
// Its value names the attempt's process group, so that a daemon which left the
// group and lost its parents is still found.
func cookie(pgid int, start uint64) string {
	return fmt.Sprintf("SCALEBENCH_TASK=%d:%016x", pgid, start)
}

// killTime bounds how long killing may take. SIGKILL takes effect at once
// unless a process hangs in the kernel (a dead network file system, say).
const killTime = 10 * time.Second

// tree describes processes to kill: a process group, its descendants, and what
// carries its cookie.
type tree struct {
	// pgid is the process group, and the process id of its leader. The caller
	// guarantees that the leader has not been reaped, so that the number
	// cannot belong to another process; 0 when that is not certain.
	pgid int
	// cookie is the environment variable that marks them.
	cookie string
	// spareSelf says that the caller belongs to the group: the child that
	// kills its own descendants.
	spareSelf bool
}
