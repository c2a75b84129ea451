package disk

import (
	"fmt"
	"strings"
	"syscall"
)

// explain says what an error of fio means and what to do about it. code is
// that of the job, 0 if fio ended before it had one; end is how the process
// ended, nil if it ended well; words are its last ones.
func explain(code syscall.Errno, end error, words string, s settings, t target) error {
	var advice string
	switch code {
	case syscall.ENOSPC, syscall.EDQUOT:
		advice = fmt.Sprintf("there is no room for %s at %s: give a smaller size, or free some space", human(s.total()), t.path)
	case syscall.EIO:
		advice = fmt.Sprintf("%s reported an input/output error: the volume may be failing or gone; `dmesg` on the node says more", t.path)
	case syscall.EACCES, syscall.EPERM:
		advice = fmt.Sprintf("fio may not use %s: run the agent as a user who may, or choose another volume or path; a device may be read-only", t.path)
	case syscall.EROFS:
		advice = fmt.Sprintf("%s is read-only: choose another volume or path", t.path)
	case syscall.EINVAL:
		advice = fmt.Sprintf("%s refuses blocks of %d bytes: direct I/O needs a multiple of the device's own block; give another block_size, or direct: false", t.path, s.block)
		if strings.Contains(words, "O_DIRECT") {
			advice = fmt.Sprintf("%s does not support direct I/O: set direct: false, or choose another volume", t.path)
		}
	case syscall.ENODEV, syscall.ENXIO, syscall.ENOENT:
		advice = fmt.Sprintf("%s is not there any more: look whether the volume is attached", t.path)
	case syscall.EAGAIN:
		advice = "the kernel has no room for more asynchronous operations: raise fs.aio-max-nr on the node, or give a smaller depth or fewer jobs"
	case syscall.ENOSYS:
		advice = fmt.Sprintf("this kernel does not allow the engine %s: give another engine", s.engine)
	case 0:
		return fmt.Errorf("fio failed without a reason in its report (%w): %s", end, lastLine(words)) // end is not nil
	default:
		advice = "see fio's words for what to do"
	}
	return fmt.Errorf("fio failed with %w: %s: %s", code, advice, lastLine(words))
}

// lastLine is the last line with anything in it.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return "it said nothing"
	}
	return s[strings.LastIndexByte(s, '\n')+1:]
}
