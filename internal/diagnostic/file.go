package diagnostic

import (
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/kctrl-dev/kctrl/internal/regular"
)

// AtFile returns an error about an operation on a file, with a hint that fits the cause.
func AtFile(path, what string, cause error) *Error {
	e := &Error{
		Pos:     token.Position{Filename: path},
		Message: fmt.Sprintf("%s: %s", what, PlainCause(cause)),
		Hint:    CauseHint(cause),
		Cause:   cause,
	}
	if strings.HasPrefix(what, "cannot read") && errors.Is(cause, fs.ErrPermission) {
		e.Hint = "make the file and its directory readable for you, then run the command again"
	}
	return e
}

// escapes is the end of [os.Root]'s error for a path that leaves the root. The os package exports no error for this
// case.
const escapes = "path escapes from parent"

// CauseHint returns a hint for an error of the file system, or "".
func CauseHint(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "make the file and its directory writable for you, then run the command again"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "free some space, then run the command again"
	case errors.Is(err, syscall.EFBIG):
		return "raise the limit on the size of files (ulimit -f), then run the command again"
	case errors.Is(err, syscall.EROFS):
		return "run the command where the file system can be written"
	case errors.Is(err, syscall.ENOTDIR):
		return "a file is where its directory should be: move it away, or name another directory"
	case errors.Is(err, syscall.ENAMETOOLONG):
		return "use shorter names"
	case errors.Is(err, syscall.EBUSY):
		return "the file is in use, such as by a mount of the file itself: mount its directory instead"
	case strings.HasSuffix(err.Error(), escapes):
		return "a symbolic link leads out of the project, where kctrl does not go: replace it"
	}
	return regular.Remedy(err)
}

// PlainCause returns the text of err without the operation and path that the os package puts before it.
func PlainCause(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		err = e.Err
	}
	return OneLine(err.Error())
}

// Relative returns a position whose file name is relative to root, with slashes. A file outside of root keeps its
// absolute name.
func Relative(root string, pos token.Position) token.Position {
	if rel, err := filepath.Rel(root, pos.Filename); err == nil && filepath.IsLocal(rel) {
		pos.Filename = filepath.ToSlash(rel)
	}
	return pos
}

// InProject returns the position of a whole file, relative to root.
func InProject(root, name string) token.Position {
	return Relative(root, token.Position{Filename: name})
}

// Moved changes the file name of an error, which is relative to from, to a name relative to to. Both are absolute
// paths.
func Moved(from, to string, err error) *Error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return &Error{Message: err.Error(), Cause: err}
	}
	moved := *e
	if e.Pos.Filename != "" && !filepath.IsAbs(e.Pos.Filename) && from != to {
		moved.Pos.Filename = filepath.Join(from, filepath.FromSlash(e.Pos.Filename))
		moved.Pos = Relative(to, moved.Pos)
		if target, err := filepath.EvalSymlinks(to); err == nil {
			moved.Pos = Relative(target, moved.Pos) // from may be the target of a symbolic link
		}
	}
	return &moved
}

// Unreadable returns an error about a file or directory that cannot be read. Its name is relative to root.
func Unreadable(root, name string, err error) error {
	return AtFile(InProject(root, name).Filename, "cannot read", err)
}

// Cut truncates a text of any length to the size of a message.
func Cut(text string) string {
	const longest = 200
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "..."
}
