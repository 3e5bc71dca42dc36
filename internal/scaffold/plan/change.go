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

// Owner says whose a file is once kctrl has written it. The row of its template has it.
type Owner uint8

const (
	// Shared is for a file that kctrl updates and that users edit. Commands merge the changes of both, and do not write
	// over an edited file.
	Shared Owner = iota
	// Generated is for a file that only kctrl writes, such as zz_generated.deepcopy.go, whatever is there.
	Generated
	// User is for a file that belongs to the user once it differs from what kctrl wrote: an existing one stays.
	User
	// API is for a file that defines the user's API or follows from it, such as types and samples. Commands change
	// only the names in it, and do not write over an edited file.
	API
)

// File is what a file should become.
type File struct {
	// Path is relative to the project root, with slashes.
	Path string
	// Content is kept by the plan and must not be modified afterwards.
	Content []byte
	// Template names where the content comes from, in the lock: the path of a template, or the name of a generator. A
	// file without one gets no entry in the lock; an entry it has already follows the new content.
	Template string
	// Owner decides about a file that exists and differs: a Generated one is replaced, one of the User stays, and
	// another one is an error if it was edited.
	Owner Owner
	// Force replaces the file in any case.
	Force bool
}
