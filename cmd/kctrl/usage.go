package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// makeTargets are targets of a project's Makefile that have no kctrl command of the same name.
var makeTargets = []string{
	"build", "deploy", "docker-build", "docker-push", "fmt", "install", "lint", "run", "test", "undeploy", "uninstall",
	"vet",
}

// unknownCommand returns the error for an unknown subcommand of cmd. Its hint suggests the nearest name.
func unknownCommand(cmd *cobra.Command, name string) error {
	e := diagnostic.Usage("unknown command "+diagnostic.Quote(name)+` for "`+cmd.CommandPath()+`"`,
		cmd.CommandPath()+" --help lists the commands")
	var names []string
	for _, sub := range subcommands(cmd) {
		names = append(names, sub.Name())
	}
	near, isNear := diagnostic.Near(name, names)
	hint, known := peerCommand(cmd, name)
	switch {
	case known:
		e.Hint = hint
	case isNear:
		e.Hint = "did you mean " + cmd.CommandPath() + " " + near + "?"
	case !cmd.HasParent() && slices.Contains(makeTargets, name):
		e.Hint = "did you mean make " + name + "?"
	}
	return e
}

// flagError returns an explanation of an error in the flags of cmd. If the first argument is an unknown command, it
// reports the command instead, because the flags of an unknown command are also unknown.
func flagError(cmd *cobra.Command, err error) error {
	if words := cmd.Flags().Args(); cmd.HasAvailableSubCommands() && len(words) > 0 {
		return unknownCommand(cmd, words[0])
	}
	e := &diagnostic.Error{Message: err.Error(), Class: diagnostic.ErrUsage, Cause: err}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		explainUnknownFlag(cmd, unknown, e)
	} else if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		explainValue(invalid, e)
	} else if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		e.Message = "--" + missing.GetFlag().Name + " requires a value"
		e.Hint = "write --" + missing.GetFlag().Name + "=" + exampleValue(missing.GetFlag())
	} else if syntax, ok := errors.AsType[*pflag.InvalidSyntaxError](err); ok {
		e.Message = diagnostic.Quote(syntax.GetSpecifiedFlag()) + " is not a flag"
	}
	return e
}

// explainUnknownFlag sets the message of an error, and a hint that suggests the nearest flag or the replacement of a
// peer's flag.
func explainUnknownFlag(cmd *cobra.Command, unknown *pflag.NotExistError, e *diagnostic.Error) {
	name := unknown.GetSpecifiedName()
	e.Message = "unknown flag: --" + diagnostic.OneLine(name)
	if group := unknown.GetSpecifiedShortnames(); group != "" {
		e.Message = "unknown flag: -" + diagnostic.OneLine(group)
	}
	var names []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	near, isNear := diagnostic.Near(name, names)
	hint, known := peerFlag(cmd, name)
	switch {
	case known:
		e.Hint = hint
	case !cmd.HasParent() && (name == "version" || name == "v"):
		e.Hint = "did you mean kctrl version?"
	case isNear && len(name) > 1:
		e.Hint = "did you mean --" + near + "?"
	}
}

// explainValue sets the message of an error to the values that the flag accepts, and adds an example as a hint.
func explainValue(invalid *pflag.InvalidValueError, e *diagnostic.Error) {
	flag := invalid.GetFlag()
	wanted := "another value"
	own, isOwn := errors.AsType[*diagnostic.Error](invalid.Unwrap())
	_, isCSV := errors.AsType[*csv.ParseError](invalid.Unwrap())
	switch {
	case isOwn:
		wanted = strings.TrimPrefix(own.Message, "want ")
	case isCSV:
		wanted = "a list with commas between its items, and quotes only around whole items"
	case errors.Is(invalid, strconv.ErrRange):
		wanted = "a smaller number"
	default:
		if text, ok := wantedValues[flag.Value.Type()]; ok {
			wanted = text
		}
	}
	e.Message = fmt.Sprintf("--%s: want %s, got %s", flag.Name, wanted, diagnostic.Quote(invalid.GetValue()))
	e.Hint = "write --" + flag.Name + "=" + exampleValue(flag)
}

// wantedValues describes the values that the types of flags accept.
var wantedValues = map[string]string{
	"bool": "true or false", "int": "a number", "count": "a number", "duration": "a time such as 90s or 5m",
	"stringToString": "pairs name=value with commas between them",
}

// exampleValue returns a valid value of a flag.
func exampleValue(flag *pflag.Flag) string {
	switch flag.Value.Type() {
	case "bool":
		return "true"
	case "int", "count":
		return "1"
	case "duration":
		return "90s"
	case "stringToString":
		return "name=value"
	case "format":
		return "json"
	}
	name, _ := pflag.UnquoteUsage(flag)
	first, _, _ := strings.Cut(name, "|")
	return first
}

// askedFormat returns the output format that a command line selects. It also works if the command line is invalid,
// because a program that reads results in a format also reads errors in this format.
func askedFormat(args []string) outputFormat {
	format := outputText
	for i, arg := range args {
		if arg == "--" {
			break
		}
		value, given := "", false
		for _, name := range []string{"-o", "--output", "--format"} {
			if arg == name && i+1 < len(args) {
				value, given = args[i+1], true
			} else if rest, ok := strings.CutPrefix(arg, name+"="); ok {
				value, given = rest, true
			}
		}
		if rest, ok := strings.CutPrefix(arg, "-o"); ok && !given && rest != "" {
			value, given = rest, true
		}
		if given {
			format = outputFormat(value)
		}
	}
	return format
}
