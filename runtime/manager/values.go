package manager

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// insecure is the value of --metrics-secure, which says the opposite of the option.
type insecure struct{ insecure *bool }

// String returns the value as it is written on the command line, and of the zero value, which is none, nothing.
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

// IsBoolFlag lets the flag go without a value.
func (insecure) IsBoolFlag() bool { return true }

// list is the value of a flag with several values. What is given first takes the place of the defaults, what is given
// later is added.
type list struct {
	values *[]string
	given  bool
}

// String returns the values as they are written on the command line.
func (l *list) String() string {
	if l.values == nil {
		return "" // of a zero list, which the package flag makes
	}
	return strings.Join(*l.values, ",")
}

// Set reads a list that is separated by commas, and blanks around them.
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
