package main

import (
	"errors"
	"fmt"
	"reflect"
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
		flags.Var(optional[string]{to, "", func(text string) (*string, error) { return &text, nil }}, name, usage)
	case **int:
		flags.Var(optional[int]{to, "-1", parseNumber}, name, usage)
	case **bool:
		flags.Var(optional[bool]{to, "false", parseBool}, name, usage)
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

// optional is a flag without a default, whose target is nil while the flag is unset.
type optional[T any] struct {
	to    **T
	unset string // text of the unset flag
	parse func(text string) (*T, error)
}

func (v optional[T]) String() string {
	if v.to == nil || *v.to == nil {
		return v.unset
	}
	return fmt.Sprint(**v.to)
}

// Set accepts the texts that parse accepts.
func (v optional[T]) Set(text string) error {
	value, err := v.parse(text)
	if err == nil {
		*v.to = value
	}
	return err
}

// Type returns the type of the flag, for pflag.
func (v optional[T]) Type() string { return reflect.TypeFor[T]().Name() }

// parseNumber returns nil for a negative number, which means unset.
func parseNumber(text string) (*int, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return nil, errors.New("want a number")
	}
	if n < 0 {
		return nil, nil
	}
	return &n, nil
}

func parseBool(text string) (*bool, error) {
	b, err := strconv.ParseBool(text)
	if err != nil {
		return nil, errors.New("want true or false")
	}
	return &b, nil
}
