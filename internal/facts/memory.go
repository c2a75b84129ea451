package facts

import "io/fs"

// Memory returns the node's memory and what the control groups of this process
// allow of it, in bytes, as Linux shows them below root (os.DirFS("/")): 0 for
// what is unknown or not limited.
func Memory(root fs.FS) (total, limit int64) {
	_, limit = limits(tree{root})
	return memory(tree{root}), limit
}
