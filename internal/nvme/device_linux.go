package nvme

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/model"
)

// adminCommand is struct nvme_admin_cmd of <linux/nvme_ioctl.h>.
type adminCommand struct {
	opcode, flags          uint8
	_                      uint16
	namespace              uint32
	_                      [2]uint32
	metadata, address      uint64
	metadataLength, length uint32
	dword10                uint32
	_                      [5]uint32
	timeout, result        uint32
}

const (
	ioctlAdmin = 0xC0484E41 // NVME_IOCTL_ADMIN_CMD
	getLogPage = 0x02
	logEBS     = 0xD0
)

// Read reads the counters of an NVMe device, such as /dev/nvme1n1. It needs root.
func Read(device string) (c Counters, err error) {
	f, err := os.Open(device)
	if err != nil {
		return c, fmt.Errorf("the device cannot be opened: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	page := make([]byte, pageSize)
	command := adminCommand{
		opcode: getLogPage, namespace: 1, length: pageSize,
		address: uint64(uintptr(unsafe.Pointer(&page[0]))),
		dword10: logEBS | (pageSize/4-1)<<16, // words less one, as the standard counts
	}
	status, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), ioctlAdmin, uintptr(unsafe.Pointer(&command)))
	runtime.KeepAlive(page)
	if errno != 0 || status != 0 {
		return c, model.Usagef("there is no EBS log page (%w, NVMe status %#x); it needs root, and a volume on a Nitro "+
			"instance", errno, status)
	}
	return Decode(page)
}
