package compat

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// Command is a parsed command line.
type Command struct {
	args       []string
	generators []generator
	paths      []string
}

// generator is a generator that was asked for, with its options, and where its output goes.
type generator struct {
	name  string
	value genall.Generator
	rule  genall.OutputRule
}

// Parse reads the arguments of controller-gen, without its flags. What is wrong is a *diagnostic.Error of class
// diagnostic.ErrUsage.
func Parse(args []string) (*Command, error) {
	registry, err := Registry()
	if err != nil {
		return nil, err
	}
	command := &Command{args: args}
	rules := map[string]genall.OutputRule{} // by generator, "" for all others
	var order []string
	for _, arg := range args {
		name, value, err := parseOption(registry, arg)
		if err != nil {
			return nil, err
		}
		switch value := value.(type) {
		case genall.Generator:
			if command.named(name) != nil {
				return nil, usage(fmt.Sprintf("generator %s is named twice", name), "put all of its options into one argument, as in "+name+":a=1,b=2")
			}
			command.generators = append(command.generators, generator{name: name, value: value})
		case genall.OutputRule:
			of := ruleOwner(name)
			rules[of] = value
			order = append(order, of)
		case genall.InputPaths:
			command.paths = append(command.paths, value...)
		}
	}
	for _, of := range order {
		if of != "" && command.named(of) == nil {
			return nil, usage(fmt.Sprintf("output rule for %s, which does not run", of), "add "+of+", or remove the rule")
		}
	}
	if len(command.generators) == 0 {
		return nil, usage("no generator is named", "name one or more of "+strings.Join(generatorNames(), ", ")+", as in: kctrl gen object paths=./...")
	}
	command.assign(rules)
	return command, nil
}

// named returns the generator with a name, or nil.
func (c *Command) named(name string) *generator {
	for i, g := range c.generators {
		if g.name == name {
			return &c.generators[i]
		}
	}
	return nil
}

// assign gives each generator its output rule: its own, else the one for all, else config/<name> for what is no code.
func (c *Command) assign(rules map[string]genall.OutputRule) {
	for i, g := range c.generators {
		switch {
		case rules[g.name] != nil:
			c.generators[i].rule = rules[g.name]
		case rules[""] != nil:
			c.generators[i].rule = rules[""]
		default:
			c.generators[i].rule = genall.OutputArtifacts{Config: genall.OutputToDirectory("config/" + g.name)}
		}
	}
}

// ruleOwner returns the generator that an output rule is for, or "".
func ruleOwner(name string) string {
	parts := strings.Split(name, ":")
	if len(parts) < 3 {
		return ""
	}
	return parts[1]
}

func parseOption(registry *markers.Registry, arg string) (name string, value any, err error) {
	text := "+" + strings.TrimPrefix(arg, "+")
	definition := registry.Lookup(text, markers.DescribesPackage)
	if definition == nil {
		return "", nil, usage(fmt.Sprintf("unknown option %q", arg), optionHint(arg))
	}
	value, err = definition.Parse(text)
	if err != nil {
		return "", nil, argumentError(definition, arg, err)
	}
	return definition.Name, value, nil
}

// optionHint says what may have been meant by an unknown option.
func optionHint(arg string) string {
	name, _, _ := strings.Cut(arg, "=")
	first, rest, _ := strings.Cut(name, ":")
	switch {
	case first == "output":
		return "the output rules are artifacts, dir, none and stdout, as in output:dir=folder or output:crd:dir=folder"
	case strings.HasPrefix(arg, ".") || strings.Contains(first, "/"):
		return "write paths=" + arg
	case isGenerator(first) && rest != "":
		return "the options of " + first + " are in: kctrl gen " + first + " -h"
	}
	return "the generators are " + strings.Join(generatorNames(), ", ") + "; paths= says where to look, output: where to write"
}

var offset = regexp.MustCompile(` \(at <input>(?::\d+:\d+)?\)$`)

// argumentError says what is wrong with the value of an option. Of several errors it takes the first: the others follow
// from it.
func argumentError(definition *markers.Definition, arg string, err error) error {
	if list, ok := errors.AsType[loader.ErrList](err); ok && len(list) > 0 {
		err = list[0]
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	first = offset.ReplaceAllString(first, "")
	hint := "kctrl gen -h lists the options"
	if names := argumentNames(definition); len(names) > 0 {
		hint = "the options of " + definition.Name + " are " + strings.Join(names, ", ")
	}
	return usage(fmt.Sprintf("option %q: %s", arg, first), hint)
}

func usage(message, hint string) error {
	return &diagnostic.Error{Message: message, Hint: hint, Class: diagnostic.ErrUsage}
}
