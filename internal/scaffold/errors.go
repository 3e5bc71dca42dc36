package scaffold

import (
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"go.yaml.in/yaml/v3"
)

// fileError says that something could not be done to a file, with a hint that fits the cause.
func fileError(path, what string, cause error) *diagnostic.Error {
	return &diagnostic.Error{
		Pos:     token.Position{Filename: path},
		Message: fmt.Sprintf("%s: %s", what, plainCause(cause)),
		Hint:    causeHint(cause),
		Cause:   cause,
	}
}

// escapes is how [os.Root] ends the error for a path that leaves it, which no exported error stands for.
const escapes = "path escapes from parent"

func causeHint(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "make the file and its folder writable for you, then run the command again"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "free some space, then run the command again"
	case errors.Is(err, syscall.EFBIG):
		return "raise the limit on the size of files (ulimit -f), then run the command again"
	case errors.Is(err, syscall.EROFS):
		return "run the command where the file system can be written"
	case errors.Is(err, syscall.ENAMETOOLONG):
		return "use shorter names"
	case strings.HasSuffix(err.Error(), escapes):
		return "a symbolic link leads out of the project, where kctrl does not go: replace it"
	}
	return ""
}

// plainCause returns the text of err without the operation and path that the os package puts before it.
func plainCause(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		err = e.Err
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

var yamlLine = regexp.MustCompile(`line (\d+): `)

// yamlPosition returns where in a file the yaml package found its first problem. It tells the line only.
func yamlPosition(filename string, err error) token.Position {
	pos := token.Position{Filename: filename, Line: 1}
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		pos.Line, _ = strconv.Atoi(m[1])
	}
	return pos
}

// yamlMessage returns the first problem that the yaml package found, on one line and without its prefixes.
func yamlMessage(err error) string {
	text := err.Error()
	if e, ok := errors.AsType[*yaml.TypeError](err); ok && len(e.Errors) > 0 {
		text = e.Errors[0]
	}
	text = strings.TrimPrefix(text, "yaml: ")
	if at := yamlLine.FindStringIndex(text); at != nil {
		text = text[:at[0]] + text[at[1]:]
	}
	return strings.ReplaceAll(text, "\n", "; ")
}

// inTheWay says that something on disk keeps a file from being written.
func inTheWay(path, message string) error {
	return &diagnostic.Error{
		Pos:     token.Position{Filename: path},
		Message: message,
		Hint:    "move it away, then run the command again",
	}
}

// describe returns "a folder", "a symbolic link" or the like.
func describe(info fs.FileInfo) string {
	switch mode := info.Mode(); {
	case mode.IsDir():
		return "a folder"
	case mode.IsRegular():
		return "a file"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	}
	return "a special file"
}
