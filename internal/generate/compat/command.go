package compat

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/genall/help"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/generate/generators"
)

// Command is a parsed command line.
type Command struct {
	args       []string
	generators []chosen
	paths      []string
}

// chosen is a generator of the command line, with its options and output rule.
type chosen struct {
	generator.Generator
	name    string
	options genall.Generator
	rule    genall.OutputRule
}

// Parse reads the arguments of controller-gen, without its flags. Errors are *diagnostic.Error of class
// diagnostic.ErrUsage.
func Parse(args []string) (*Command, error) {
	registry, err := Registry()
	if err != nil {
		return nil, err
	}
	command := &Command{args: args}
	rules := map[string]genall.OutputRule{} // by generator; "" is the rule for the others
	var order []string
	for _, arg := range args {
		name, value, err := parseOption(registry, arg)
		if err != nil {
			return nil, err
		}
		switch value := value.(type) {
		case genall.Generator:
			if command.runs(name) {
				return nil, diagnostic.Usage(fmt.Sprintf("generator %s is named twice", name),
					"put all of its options into one argument, as in "+name+":a=1,b=2")
			}
			command.generators = append(command.generators, chosen{byName()[name], name, value, nil})
		case genall.OutputRule:
			of := ""
			if parts := strings.Split(name, ":"); len(parts) > 2 {
				of = parts[1]
			}
			rules[of] = value
			order = append(order, of)
		case genall.InputPaths:
			command.paths = append(command.paths, value...)
		}
	}
	for _, of := range order {
		if of != "" && !command.runs(of) {
			return nil, diagnostic.Usage(fmt.Sprintf("output rule for %s, which does not run", of),
				"add "+of+", or remove the rule")
		}
	}
	if len(command.generators) == 0 {
		return nil, diagnostic.Usage("no generator is named", "name one or more of "+strings.Join(generatorNames(), ", ")+
			", as in: kctrl gen object paths=./...")
	}
	for i, g := range command.generators {
		own := genall.OutputArtifacts{Config: genall.OutputToDirectory("config/" + g.name)}
		command.generators[i].rule = cmp.Or[genall.OutputRule](rules[g.name], rules[""], own)
	}
	return command, nil
}

func (c *Command) runs(name string) bool {
	return slices.ContainsFunc(c.generators, func(g chosen) bool { return g.name == name })
}

func parseOption(registry *markers.Registry, arg string) (name string, value any, err error) {
	text := "+" + strings.TrimPrefix(arg, "+")
	definition := registry.Lookup(text, markers.DescribesPackage)
	if definition == nil {
		return "", nil, diagnostic.Usage(fmt.Sprintf("unknown option %q", arg), optionHint(arg))
	}
	value, err = definition.Parse(text)
	if err != nil {
		return "", nil, argumentError(definition, arg, err)
	}
	return definition.Name, value, nil
}

// optionHint suggests the option that the user may have meant.
func optionHint(arg string) string {
	name, _, _ := strings.Cut(arg, "=")
	first, rest, _ := strings.Cut(name, ":")
	switch {
	case first == "output":
		return "the output rules are artifacts, dir, none and stdout, as in output:dir=out or output:crd:dir=out"
	case strings.HasPrefix(arg, ".") || strings.Contains(first, "/"):
		return "write paths=" + arg
	case isGenerator(first) && rest != "":
		return "the options of " + first + " are in: kctrl gen " + first + " -h"
	}
	return "the generators are " + strings.Join(generatorNames(), ", ") + "; set input with paths= and output with output:"
}

var offset = regexp.MustCompile(` \(at <input>(?::\d+:\d+)?\)$`)

// argumentError returns the error about the value of an option. It uses the first of several errors, because the others
// follow from it.
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
	return diagnostic.Usage(fmt.Sprintf("option %q: %s", arg, first), hint)
}

// byName returns all generators by their names on the command line of kctrl gen.
func byName() map[string]generator.Generator {
	all := map[string]generator.Generator{}
	for _, g := range generators.All() {
		all[cmp.Or(g.GenName, g.Name)] = g
	}
	return all
}

func generatorNames() []string { return slices.Sorted(maps.Keys(byName())) }

func isGenerator(name string) bool { return slices.Contains(generatorNames(), name) }

// outputRules are all output rules. Each rule is an option "output:<rule>", and for each generator an option
// "output:<generator>:<rule>".
var outputRules = map[string]genall.OutputRule{
	"artifacts": genall.OutputArtifacts{},
	"dir":       genall.OutputToDirectory(""),
	"none":      genall.OutputToNothing,
	"stdout":    genall.OutputToStdout,
}

// Registry returns the options of the command line as markers, with their documentation.
func Registry() (*markers.Registry, error) {
	options := map[string]any{}
	for name, g := range byName() {
		options[name] = g.Options
		for rule, value := range outputRules {
			options["output:"+rule], options["output:"+name+":"+rule] = value, value
		}
	}
	registry := &markers.Registry{}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		definition, err := markers.MakeDefinition(name, markers.DescribesPackage, options[name])
		if err != nil {
			return nil, err
		}
		if err := registry.Register(definition); err != nil {
			return nil, err
		}
		if documented, ok := options[name].(genall.HasHelp); ok {
			registry.AddHelp(definition, documented.Help())
		}
	}
	return registry, genall.RegisterOptionsMarkers(registry)
}

// OptionHelp documents all options of the command line, by category.
func OptionHelp() ([]help.CategoryDoc, error) {
	registry, err := Registry()
	if err != nil {
		return nil, err
	}
	return help.ByCategory(registry, help.SortByOption), nil
}

// MarkerHelp documents the markers of the generators that args name, by category.
func MarkerHelp(args []string) ([]help.CategoryDoc, error) {
	options, err := Registry()
	if err != nil {
		return nil, err
	}
	registry := &markers.Registry{}
	for _, arg := range args {
		_, value, err := parseOption(options, arg)
		if err != nil {
			return nil, err
		}
		if g, ok := value.(genall.Generator); ok {
			if err := g.RegisterMarkers(registry); err != nil {
				return nil, err
			}
		}
	}
	return help.ByCategory(registry, help.SortByCategory), nil
}

func argumentNames(definition *markers.Definition) []string {
	if definition.AnonymousField() {
		return nil
	}
	return slices.Sorted(maps.Keys(definition.Fields))
}
