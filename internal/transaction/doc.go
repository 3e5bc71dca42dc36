// Package transaction writes files: all changes of a command, or none.
//
// A command takes the lock of its directory, recovers from a killed command, reads, plans its changes, and applies them:
//
//	lock, err := transaction.Acquire(ctx, dir, transaction.LockOptions{})
//	...
//	defer lock.Release()
//	target, err := transaction.Open(dir)
//	...
//	interrupted, found, err := transaction.Recover(target)
//	...
//	err = transaction.Apply(ctx, target, transaction.Options{Command: "kctrl init"}, changes)
//
// [Apply] first writes a journal of the changes, then every new content beside its target, and then moves these into
// place and keeps the old files. Appending a line to the journal commits the changes. Before it, Apply rolls back if a
// step fails or ctx ends, and [Recover] rolls back if the process died. After it, the old files are removed.
//
// # Guarantees
//
//   - Whatever fails and wherever the process is killed, the tree is as before or as planned, at the latest after the
//     next Recover. A loss of power is not covered: nothing is synced.
//   - Every file is complete at every moment: readers see the old content or the new one. On a file system without hard
//     links, a replaced file is missing for a moment, and a new one is empty for a moment.
//   - A file that changed between its reading and its replacement is not overwritten. An edit between the death of a
//     process and the recovery stays.
//   - A target that is not a regular file is an error. No file is truncated.
//   - Recover renames and removes only files of a transaction. A journal that came with a repository reaches nothing
//     outside of the directory that is older than the journal.
//
// # Concurrency
//
// Any number of processes may call all functions. The lock serializes commands in one directory.
package transaction
