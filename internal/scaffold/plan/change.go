package plan

import (
	"fmt"
	"io/fs"
)

// Op is the operation of a change.
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

// MarshalText returns the result of String, for the JSON output of a plan.
func (o Op) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Change is the change of one file in a plan.
type Change struct {
	// Path is relative to the project root, with slashes.
	Path string
	Op   Op
	// Before is the content when the plan was made; it is nil for Create. After is the new content; it is nil for Delete.
	// The plan shares both: do not modify them.
	Before, After []byte
	// Mode has the permissions of the file. For Create they are subject to the umask.
	Mode fs.FileMode
	// Template identifies the source of the content. It is empty if the lock does not record it.
	Template string
}

// Owner decides who may change a file after kctrl wrote it. The table of templates sets it.
type Owner uint8

const (
	// Shared is for a file that both kctrl and the user change. Commands merge the changes and never overwrite an edited
	// file.
	Shared Owner = iota
	// Generated is for a file that only kctrl writes, such as zz_generated.deepcopy.go. It is overwritten even if it was
	// edited, but not if neither kctrl nor another generator of Go code wrote it.
	Generated
	// User is for a file that belongs to the user as soon as it differs from what kctrl wrote. WriteFile keeps an existing
	// file.
	User
	// API is for a file that defines the user's API or derives from it, such as types and samples. Commands change only
	// names in it and never overwrite an edited file.
	API
)

// File is the planned content of a file.
type File struct {
	// Path is relative to the project root, with slashes.
	Path string
	// Content is kept by the plan and must not be modified later.
	Content []byte
	// Template identifies the source of the content in the lock: the path of a template, or the name of a generator. If it
	// is empty, the plan adds no lock entry; an existing entry is updated for the new content.
	Template string
	// Owner decides what happens to an existing file with different content. A Generated file is replaced if it was
	// generated, and a User file is kept. Otherwise the file is an error.
	Owner Owner
	// Force replaces the file regardless of its owner.
	Force bool
}
