// Package diagnostic defines the errors that kctrl shows to users. An error has a position, a message and a hint.
//
// Code that finds one problem returns an [*Error]. Code that finds several joins them with errors.Join, and never wraps
// the joined error in a prefix. [All] returns the single errors, ordered by position.
package diagnostic

import (
	"cmp"
	"errors"
	"go/scanner"
	"go/token"
	"slices"
)

// ErrUsage marks an error in a command line, such as an unknown flag or an invalid value.
var ErrUsage = errors.New("wrong usage")

// ErrDrift marks a check that found generated files out of date.
var ErrDrift = errors.New("out of date")

// Error is one problem. Caches store it in JSON, without class and cause.
type Error struct {
	// Pos is the position. Only Filename may be set; the zero value means no position. The file name is relative to the
	// project root, with slashes.
	Pos token.Position
	// Message describes the problem: lower case, no full stop, no newline.
	Message string
	// Hint is the next step, in the imperative. May be empty.
	Hint string
	// Code names the violated rule for tools that read reports, such as "unknown-marker". May be empty.
	Code string
	// Class is ErrUsage or ErrDrift, or nil for an ordinary failure. It decides the exit code.
	Class error `json:"-"`
	// Cause is the underlying error, for errors.Is. It is not printed, because Message contains it.
	Cause error `json:"-"`
}

// New returns an error without a position.
func New(message, hint string) *Error { return &Error{Message: message, Hint: hint} }

// Because returns an error with a cause, which the message contains.
func Because(cause error, message, hint string) *Error {
	return &Error{Message: message, Hint: hint, Cause: cause}
}

// Usage returns an error in a command line.
func Usage(message, hint string) *Error { return &Error{Message: message, Hint: hint, Class: ErrUsage} }

// At returns an error about a position in a file.
func At(pos token.Position, message, hint string) *Error {
	return &Error{Pos: pos, Message: message, Hint: hint}
}

// In returns an error about a file.
func In(file, message, hint string) *Error { return At(token.Position{Filename: file}, message, hint) }

// Error returns "file:line:column: message" without the hint.
func (e *Error) Error() string {
	if e.Pos.Filename == "" {
		return e.Message
	}
	return e.Pos.String() + ": " + e.Message
}

// Unwrap returns the class and the cause.
func (e *Error) Unwrap() []error {
	var errs []error
	for _, err := range []error{e.Class, e.Cause} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// NotGo returns the error for a user's file in which go/parser or go/format found the syntax error err.
func NotGo(name string, err error) *Error {
	e := &Error{
		Pos:     token.Position{Filename: name},
		Message: "not valid Go: " + err.Error(),
		Hint:    "repair it, then run the command again",
		Cause:   err,
	}
	if list, ok := errors.AsType[scanner.ErrorList](err); ok && len(list) > 0 {
		e.Pos.Line, e.Pos.Column, e.Message = list[0].Pos.Line, list[0].Pos.Column, "not valid Go: "+list[0].Msg
	}
	return e
}

// All returns the single errors that err joins, without duplicates and ordered by position. Errors without a position
// come first. For nil, All returns nothing. An error with several causes and its own message, such as one from
// fmt.Errorf, is a single error.
func All(err error) []error {
	var errs []error
	known := map[visible]bool{}
	var walk func(error)
	walk = func(err error) {
		parts := joined(err)
		for _, part := range parts {
			walk(part)
		}
		if err != nil && parts == nil && !known[visibleParts(err)] {
			known[visibleParts(err)] = true
			errs = append(errs, err)
		}
	}
	walk(err)
	slices.SortStableFunc(errs, func(a, b error) int { return ComparePosition(position(a), position(b)) })
	return errs
}

// visible contains the parts of an error that users see.
type visible struct {
	message, hint string
	class         error
}

func visibleParts(err error) visible {
	t := visible{message: err.Error()}
	if d, ok := errors.AsType[*Error](err); ok {
		t.hint, t.class = d.Hint, d.Class
	}
	return t
}

// joined returns the errors that err joins, or nil if err is a single error.
func joined(err error) []error {
	if _, single := err.(*Error); single {
		return nil // keeps its hint, even if its cause has the same message
	}
	multiple, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	parts := multiple.Unwrap()
	if join := errors.Join(parts...); join == nil || join.Error() != err.Error() {
		return nil
	}
	return parts
}

func position(err error) token.Position {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Pos
	}
	return token.Position{}
}

// LineOf returns the file and the line of an error, to find errors with the same cause.
func LineOf(err error) token.Position {
	at := position(err)
	return token.Position{Filename: at.Filename, Line: at.Line}
}

// ComparePosition orders positions by file, line and column.
func ComparePosition(a, b token.Position) int {
	return cmp.Or(cmp.Compare(a.Filename, b.Filename), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}
