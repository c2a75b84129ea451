package procself

import "golang.org/x/sys/unix"

// Room is how much of the file system that holds a path this user can still
// write, and how large it is, in bytes.
func Room(path string) (free, size int64, err error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return 0, 0, err
	}
	block := int64(fs.Bsize) //nolint:unconvert // 32 bits elsewhere
	return int64(fs.Bavail) * block, int64(fs.Blocks) * block, nil
}
