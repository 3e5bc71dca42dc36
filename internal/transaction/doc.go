// Package transaction writes either all changes of a command to the disk, or none.
//
// A command acquires the lock of its directory, recovers from a killed command, reads files, plans its changes, and
// applies them:
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
// [Apply] first writes a journal of the changes. It then writes every new content to a temporary file beside its
// target, moves the temporary files to their targets, and keeps the old files. Finally it appends a line to the
// journal, which commits the changes, and removes the old files. If a step before the commit fails or ctx ends, Apply
// rolls back all changes. If the process dies before the commit, [Recover] rolls them back.
//
// # Guarantees
//
//   - After any failure, and if the process is killed at any point, the tree is either unchanged or as planned, at the
//     latest after the next Recover. This does not include a loss of power, because the package does not sync files.
//   - Every file is complete at all times: readers see either the old or the new content. On a file system without hard
//     links, a replaced file is missing for a moment, and a new file is empty for a moment.
//   - Apply does not overwrite a file that changed after the command read it. Recover keeps edits that were made after
//     the process died.
//   - A target that is not a regular file is an error. Apply truncates no file.
//   - Recover renames and removes only files of a transaction. If a repository contains a forged journal, Recover does
//     not touch files outside the directory that are older than the journal.
//
// # Concurrency
//
// All functions are safe for use by several processes. The lock serializes the commands in a directory.
package transaction
