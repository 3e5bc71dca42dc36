package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// makeTargets are what the Makefile of a project does, and kctrl itself does not.
var makeTargets = []string{
	"build", "deploy", "docker-build", "docker-push", "fmt", "install", "lint", "run", "test", "undeploy", "uninstall", "vet",
}

// idleFlags are flags that other scaffolding tools have and that kctrl has no use for.
var idleFlags = []string{"component-config", "fetch-deps", "make", "plugins", "project-version", "skip-go-version-check"}

// unknownCommand says that cmd has no such subcommand, and which may have been meant.
func unknownCommand(cmd *cobra.Command, name string) error {
	e := &diagnostic.Error{
		Message: `unknown command "` + name + `" for "` + cmd.CommandPath() + `"`,
		Hint:    cmd.CommandPath() + " --help lists the commands",
		Class:   diagnostic.ErrUsage,
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	near := nearest(name, names)
	switch {
	case near != "":
		e.Hint = "did you mean " + cmd.CommandPath() + " " + near + "?"
	case !cmd.HasParent() && slices.Contains(makeTargets, name):
		e.Hint = "did you mean make " + name + "?"
	}
	return e
}

// flagError explains an error of the flags of cmd. The first argument may be to blame: a command that does not exist has
// flags that its parent does not know.
func flagError(cmd *cobra.Command, err error) error {
	if words := cmd.Flags().Args(); cmd.HasAvailableSubCommands() && len(words) > 0 {
		return unknownCommand(cmd, words[0])
	}
	e := &diagnostic.Error{Message: err.Error(), Class: diagnostic.ErrUsage, Cause: err}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return e
	}
	name := unknown.GetSpecifiedName()
	var names []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	near := nearest(name, names)
	switch {
	case slices.Contains(idleFlags, name):
		e.Hint = "leave --" + name + " out: kctrl works without"
	case !cmd.HasParent() && (name == "version" || name == "v"):
		e.Hint = "did you mean kctrl version?"
	case near != "" && len(name) > 1:
		e.Hint = "did you mean --" + near + "?"
	}
	return e
}

// nearest returns the name that word is most likely a slip of, or nothing.
func nearest(word string, names []string) string {
	best, least := "", 2+len(word)/6
	for _, name := range names {
		if distance := diagnostic.Slips(strings.ToLower(word), name); distance < least {
			best, least = name, distance
		}
	}
	return best
}
