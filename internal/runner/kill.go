package runner

import (
	"fmt"
	"time"
)

// CookieName is a variable in the environment of everything that a workload
// starts. Its value names the attempt's process group, so that a daemon which
// left the group and lost its parents is still found.
const CookieName = "SCALEBENCH_TASK"

// cookie returns the variable with its value.
func cookie(pgid int, start uint64) string {
	return fmt.Sprintf("%s=%d:%016x", CookieName, pgid, start)
}

// huntTime bounds how long killing may take. SIGKILL takes effect at once
// unless a process hangs in the kernel (a dead network file system, say).
const huntTime = 10 * time.Second

// quarry describes the processes to kill.
type quarry struct {
	// pgid is the process group, and the process id of its leader. The caller
	// guarantees that the leader has not been reaped, so that the number
	// cannot belong to anybody else; 0 when that is not certain.
	pgid int
	// cookie is the environment variable that marks them.
	cookie string
	// inside says that the hunter belongs to the group itself and must be
	// spared: the child that hunts its own descendants.
	inside bool
}
