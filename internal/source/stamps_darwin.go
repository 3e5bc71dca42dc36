package source

import (
	"io/fs"
	"syscall"
)

// identityOf returns what the file system says of a file. It reports false if that does not show every change.
func identityOf(info fs.FileInfo) (Identity, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Identity{}, false
	}
	return Identity{
		Device: uint64(stat.Dev), Inode: stat.Ino, Size: stat.Size,
		Modified: stat.Mtimespec.Nano(), Changed: stat.Ctimespec.Nano(),
	}, true
}
