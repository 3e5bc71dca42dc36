package manager

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// insecure is the value of --metrics-secure. It sets the option Insecure to the opposite.
type insecure struct{ insecure *bool }

// String returns the value in the form of the command line, or "" for the zero value.
func (i insecure) String() string {
	if i.insecure == nil {
		return ""
	}
	return strconv.FormatBool(!*i.insecure)
}

// Set reads a boolean.
func (i insecure) Set(value string) error {
	secure, err := strconv.ParseBool(value)
	if err != nil {
		return errors.New("parse error")
	}
	*i.insecure = !secure
	return nil
}

// IsBoolFlag allows the flag without a value.
func (insecure) IsBoolFlag() bool { return true }

// list is the value of a flag with several values. The first occurrence replaces the defaults, later ones append.
type list struct {
	values *[]string
	given  bool
}

// String returns the values in the form of the command line.
func (l *list) String() string {
	if l.values == nil {
		return "" // package flag calls it on a zero list
	}
	return strings.Join(*l.values, ",")
}

// Set parses a comma-separated list and trims blanks.
func (l *list) Set(value string) error {
	values := strings.Split(value, ",")
	for i := range values {
		values[i] = strings.TrimSpace(values[i])
	}
	if slices.Contains(values, "") {
		return errors.New("want values separated by commas")
	}
	if l.given {
		values = append(slices.Clip(*l.values), values...)
	}
	*l.values, l.given = values, true
	return nil
}
