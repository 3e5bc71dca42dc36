package main

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kctrl-dev/kctrl/internal/generate/generator"
)

// addFlag adds the flag of a generator to a command.
func addFlag(flags *pflag.FlagSet, f generator.Flag) {
	if to, ok := f.To.(*string); ok {
		flags.StringVar(to, f.Name, f.Default, f.Usage)
		return
	}
	addOption(flags, f.Name, f.To, f.Usage)
	if flag := flags.Lookup(f.Name); f.Pairs {
		flag.Value = pairList{flag.Value}
	}
}

// addOption adds a flag for an option without a default. The option is a list, or a pointer that stays nil if the flag
// is unset.
func addOption(flags *pflag.FlagSet, name string, to any, usage string) {
	switch to := to.(type) {
	case *[]string:
		flags.StringSliceVar(to, name, nil, usage)
	case **string:
		flags.Var(optionalString{to}, name, usage)
	case **int:
		flags.Var(optionalInt{to}, name, usage)
	case **bool:
		flags.Var(optionalBool{to}, name, usage)
		flags.Lookup(name).NoOptDefVal = "true"
	default:
		panic("flag " + name + " has a type that flags do not support")
	}
}

// pairList is a flag whose value is a list of name=value items.
type pairList struct{ pflag.Value }

// Set adds the pairs in text, which commas separate.
func (v pairList) Set(text string) error {
	for item := range strings.SplitSeq(text, ",") {
		if !strings.Contains(item, "=") {
			return errors.New("want pairs")
		}
	}
	return v.Value.Set(text)
}

// Type returns the type of the flag, for pflag.
func (pairList) Type() string { return "stringToString" }

// optionalString is a string flag without a default.
type optionalString struct{ to **string }

func (v optionalString) String() string {
	if v.to == nil || *v.to == nil {
		return ""
	}
	return **v.to
}

// Set accepts any text.
func (v optionalString) Set(text string) error {
	*v.to = &text
	return nil
}

// Type returns the type of the flag, for pflag.
func (optionalString) Type() string { return "string" }

// optionalInt is an integer flag without a default. A negative value means unset.
type optionalInt struct{ to **int }

func (v optionalInt) String() string {
	if v.to == nil || *v.to == nil {
		return "-1"
	}
	return strconv.Itoa(**v.to)
}

// Set accepts an integer.
func (v optionalInt) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil {
		return errors.New("want a number")
	}
	if *v.to = &n; n < 0 {
		*v.to = nil
	}
	return nil
}

// Type returns the type of the flag, for pflag.
func (optionalInt) Type() string { return "int" }

// optionalBool is a boolean flag without a default.
type optionalBool struct{ to **bool }

func (v optionalBool) String() string {
	return strconv.FormatBool(v.to != nil && *v.to != nil && **v.to)
}

// Set accepts true and false.
func (v optionalBool) Set(text string) error {
	b, err := strconv.ParseBool(text)
	if err != nil {
		return errors.New("want true or false")
	}
	*v.to = &b
	return nil
}

// Type returns the type of the flag, for pflag.
func (optionalBool) Type() string { return "bool" }
