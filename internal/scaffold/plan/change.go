package plan

import (
	"fmt"
	"io/fs"
)

// Op is what happens to a file.
type Op uint8

// The operations of a [Change].
const (
	Create Op = iota + 1
	Update
	Delete
)

// String returns "create", "update" or "delete".
func (o Op) String() string {
	switch o {
	case Create:
		return "create"
	case Update:
		return "update"
	case Delete:
		return "delete"
	}
	return fmt.Sprintf("Op(%d)", uint8(o))
}

// MarshalText returns the same text as String, for the JSON output of a plan.
func (o Op) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Change is what a plan does to one file.
type Change struct {
	// Path is relative to the project root, with slashes.
	Path string
	Op   Op
	// Before is the content that the plan saw, nil for Create. After is the new content, nil for Delete. Both are shared
	// with the plan: do not modify them.
	Before, After []byte
	// Mode holds the permissions of the file after the change: those it has for Update and Delete, those it is created
	// with (less the umask) for Create.
	Mode fs.FileMode
	// Template names where the content comes from; empty when it is not recorded in the lock.
	Template string
}

// Policy says what may happen to a file that is already there. It is plain data, so that a table of templates can carry
// it.
type Policy uint8

const (
	// Guarded is for a file that kctrl writes and that the user may take over: it is written while it is as kctrl left
	// it. A file that the user has edited, or that kctrl never wrote, is an error, unless it has the wanted content.
	Guarded Policy = iota
	// Own is for a file that is kctrl's alone, such as zz_generated.deepcopy.go: it is written whatever is there.
	Own
	// Once is for a file that is the user's after the first write: it is written if absent and else left alone.
	Once
	// Edit is for content that was made by editing what [Plan.Read] returned: it is written, and a file that was the
	// user's before remains so.
	Edit
)

// Forced returns the policy that --force makes of p: Own for Guarded and Once, p otherwise.
func (p Policy) Forced() Policy {
	if p == Edit {
		return Edit
	}
	return Own
}

// File is what a file should become.
type File struct {
	// Path is relative to the project root, with slashes.
	Path string
	// Content is kept by the plan and must not be modified afterwards.
	Content []byte
	// Template names where the content comes from, in the lock: the path of a template, or the name of a generator. A
	// file without one gets no entry in the lock; an entry it has already follows the new content.
	Template string
	// Policy says what may happen to a file that is already there. The zero value is Guarded.
	Policy Policy
	// Mode is for a file that is created; 0 means 0o644. A file that exists keeps its own.
	Mode fs.FileMode
}
