package monitor

import "golang.org/x/sys/unix"

// deviceNumber returns the device below a path: of a block device its own
// number, of a file or folder that of the device which holds it. Some file
// systems (btrfs, overlay, tmpfs, network ones) tell a number that is no
// device's; then nothing in /proc/diskstats will match.
func deviceNumber(path string) (major, minor uint64, ok bool) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return 0, 0, false
	}
	dev := uint64(st.Dev) //nolint:unconvert // 32 bits on some processors
	if st.Mode&unix.S_IFMT == unix.S_IFBLK {
		dev = uint64(st.Rdev) //nolint:unconvert // as above
	}
	return uint64(unix.Major(dev)), uint64(unix.Minor(dev)), true
}
