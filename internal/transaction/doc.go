// Package transaction writes files: all that a command changes, or none.
//
// A command takes the lock of its folder, recovers what a killed command has left there, reads, works out its changes,
// and applies them:
//
//	lock, err := transaction.Acquire(ctx, dir, transaction.LockOptions{})
//	...
//	defer lock.Release()
//	folder, err := transaction.Open(dir)
//	...
//	interrupted, err := transaction.Recover(folder)
//	...
//	err = transaction.Apply(ctx, folder, transaction.Options{Command: "kctrl init"}, changes)
//
// [Apply] first writes a journal of what it is about to do, then all new contents beside their targets, and only then
// puts them in place, keeping what was there. When everything is in place and on disk, the journal says so: that is the
// moment at which the changes are made. Until then everything is taken back, by Apply itself if a step fails or ctx
// ends, and by [Recover] if the process died. After it, what was kept is removed.
//
// # Guarantees
//
//   - Whatever fails, and wherever the process is killed, the tree is as it was or as it should be, at the latest after
//     the next Recover. The same goes for a loss of power, as far as the file system keeps its word about fsync.
//   - Every file is complete at every moment: who reads sees the old content or the new one. On a file system without
//     hard links a file that is replaced is missing for a moment, and one that is new is empty for a moment.
//   - A file that changed between the reading and its replacement is not overwritten, and neither is one that was edited
//     between a death and the recovery: that edit stays.
//   - A target that is no plain file, or whose folder takes no new files, is an error. Nothing is truncated, ever.
//   - Recover renames and removes only files that a transaction has put where they are. A journal that somebody made up
//     reaches nothing outside of the folder that is older than it.
//
// # Concurrency
//
// All functions may be called by any number of processes; the lock is what keeps two from working on one folder.
package transaction
