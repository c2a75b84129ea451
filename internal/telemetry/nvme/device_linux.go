package nvme

import (
	"errors"
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

// Device reads the log page of an NVMe device, such as /dev/nvme1n1. It needs root.
func Device(device string) ([]byte, error) {
	f, err := os.Open(device)
	if err != nil {
		return nil, fmt.Errorf("the device cannot be opened: %w", err)
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
	switch {
	case errors.Is(errno, unix.ENOTTY), errors.Is(errno, unix.EINVAL):
		return nil, model.Usagef("this is not an NVMe device")
	case errors.Is(errno, unix.EACCES), errors.Is(errno, unix.EPERM):
		return nil, fmt.Errorf("%w: reading the log page of a device needs root", model.ErrDenied)
	case errno != 0:
		return nil, fmt.Errorf("reading the log page: %w", errno)
	case status != 0:
		return nil, model.Usagef("this device has no EBS log page (NVMe status %#x); only volumes on Nitro instances have one", status)
	}
	return page, nil
}
