package source

import (
	"io/fs"
	"syscall"
)

// identityOf returns the metadata of a file. It returns false if the metadata does not show every change.
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
