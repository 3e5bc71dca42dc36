// Package diagnostic is how kctrl tells a user what is wrong: where it is, what it is, and what to do next.
//
// Code that finds something wrong returns an [*Error]; code that finds several things joins them with errors.Join and
// never wraps the joined error in a prefix. [All] takes such a tree apart again, in the order of position.
package diagnostic

import (
	"cmp"
	"errors"
	"go/scanner"
	"go/token"
	"slices"
)

// ErrUsage marks an error in how a command was called: an unknown flag, a value that can never be right.
var ErrUsage = errors.New("wrong usage")

// ErrDrift marks a check that found generated files out of date.
var ErrDrift = errors.New("out of date")

// Error is one thing that is wrong.
type Error struct {
	// Pos is where. Only Filename may be set; the zero value means nowhere in particular. The file name is relative
	// to the project root, with slashes.
	Pos token.Position
	// Message says what is wrong: lower case, no full stop, no newline.
	Message string
	// Hint says what to do next, in the imperative. Empty when there is nothing to say.
	Hint string
	// Code names the rule that was broken, for tools that read reports: "unknown-marker". Empty when there is none.
	Code string
	// Class is ErrUsage or ErrDrift, or nil for an ordinary failure. It decides the exit code.
	Class error
	// Cause is what lies beneath, for errors.Is. It is not printed: Message says it.
	Cause error
}

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

// NotGo returns the error about a file of the user's that err, of go/parser or go/format, says is no Go.
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

// All returns the single errors that err is joined from, ordered by position, errors without one first. One that several steps
// came across is told once. A nil err gives none. An error that has several causes but a message of its own, such as one made by
// fmt.Errorf, is single.
func All(err error) []error {
	var errs []error
	known := map[told]bool{}
	var walk func(error)
	walk = func(err error) {
		parts := joined(err)
		for _, part := range parts {
			walk(part)
		}
		if err != nil && parts == nil && !known[asTold(err)] {
			known[asTold(err)] = true
			errs = append(errs, err)
		}
	}
	walk(err)
	slices.SortStableFunc(errs, func(a, b error) int { return ComparePosition(position(a), position(b)) })
	return errs
}

// told is what a user is told of an error.
type told struct {
	message, hint string
	class         error
}

func asTold(err error) told {
	t := told{message: err.Error()}
	if d, ok := errors.AsType[*Error](err); ok {
		t.hint, t.class = d.Hint, d.Class
	}
	return t
}

// joined returns what err was joined from, or nil when err is a single error.
func joined(err error) []error {
	if _, single := err.(*Error); single {
		return nil // with its hint, also when it says no more than its cause
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

// ComparePosition orders positions by file, line and column.
func ComparePosition(a, b token.Position) int {
	return cmp.Or(cmp.Compare(a.Filename, b.Filename), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}
