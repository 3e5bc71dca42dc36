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
			if command.named(name) != nil {
				return nil, usage(fmt.Sprintf("generator %s is named twice", name),
					"put all of its options into one argument, as in "+name+":a=1,b=2")
			}
			command.generators = append(command.generators, chosen{generatorNamed(name), name, value, nil})
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
		return nil, usage("no generator is named", "name one or more of "+strings.Join(generatorNames(), ", ")+
			", as in: kctrl gen object paths=./...")
	}
	command.assign(rules)
	return command, nil
}

// named returns the generator with a name, or nil.
func (c *Command) named(name string) *chosen {
	for i, g := range c.generators {
		if g.name == name {
			return &c.generators[i]
		}
	}
	return nil
}

// generatorNamed returns the generator with a name on the command line. Such a generator must exist.
func generatorNamed(name string) generator.Generator {
	all := byName()
	return all[slices.IndexFunc(all, func(g named) bool { return g.name == name })].value.(generator.Generator)
}

// assign gives each generator its output rule: the generator's own rule, else the common rule, else config/<name> for
// generators of manifests.
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
	return usage(fmt.Sprintf("option %q: %s", arg, first), hint)
}

func usage(message, hint string) error {
	return &diagnostic.Error{Message: message, Hint: hint, Class: diagnostic.ErrUsage}
}

// named is a generator or an output rule with its name on the command line.
type named struct {
	name  string
	value any
}

// byName returns all generators in the order of their names on the command line of kctrl gen.
func byName() []named {
	var all []named
	for _, g := range generators.All() {
		all = append(all, named{cmp.Or(g.GenName, g.Name), g})
	}
	slices.SortFunc(all, func(a, b named) int { return cmp.Compare(a.name, b.name) })
	return all
}

// outputRules returns all output rules. Each rule is an option "output:<rule>", and for each generator an option
// "output:<generator>:<rule>".
func outputRules() []named {
	return []named{
		{"artifacts", genall.OutputArtifacts{}},
		{"dir", genall.OutputToDirectory("")},
		{"none", genall.OutputToNothing},
		{"stdout", genall.OutputToStdout},
	}
}

// generatorNames returns the names of all generators.
func generatorNames() []string {
	var names []string
	for _, g := range byName() {
		names = append(names, g.name)
	}
	return names
}

// Registry returns the options of the command line as markers, with their documentation.
func Registry() (*markers.Registry, error) {
	registry := &markers.Registry{}
	var options []named
	for _, g := range byName() {
		options = append(options, named{g.name, g.value.(generator.Generator).Options})
	}
	for _, rule := range outputRules() {
		options = append(options, named{"output:" + rule.name, rule.value})
		for _, generator := range byName() {
			options = append(options, named{"output:" + generator.name + ":" + rule.name, rule.value})
		}
	}
	for _, option := range options {
		definition, err := markers.MakeDefinition(option.name, markers.DescribesPackage, option.value)
		if err != nil {
			return nil, err
		}
		if err := registry.Register(definition); err != nil {
			return nil, err
		}
		if documented, ok := option.value.(genall.HasHelp); ok {
			registry.AddHelp(definition, documented.Help())
		}
	}
	return registry, genall.RegisterOptionsMarkers(registry)
}

// isGenerator reports whether name is the name of a generator.
func isGenerator(name string) bool { return slices.Contains(generatorNames(), name) }

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

// argumentNames returns the names of the arguments of an option, if they have any.
func argumentNames(definition *markers.Definition) []string {
	if definition.AnonymousField() {
		return nil
	}
	return slices.Sorted(maps.Keys(definition.Fields))
}
