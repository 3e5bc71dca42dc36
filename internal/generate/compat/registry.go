package compat

import (
	"slices"

	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/deepcopy"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/markers"
	"sigs.k8s.io/controller-tools/pkg/rbac"
	"sigs.k8s.io/controller-tools/pkg/schemapatcher"
	"sigs.k8s.io/controller-tools/pkg/webhook"
)

// named is a generator or an output rule and the name it has on the command line.
type named struct {
	name  string
	value any
}

// generators are all generators, in the order of their names.
func generators() []named {
	return []named{
		{"applyconfiguration", ApplyConfiguration{}},
		{"crd", crd.Generator{}},
		{"object", deepcopy.Generator{}},
		{"rbac", rbac.Generator{}},
		{"schemapatch", schemapatcher.Generator{}},
		{"webhook", webhook.Generator{}},
	}
}

// outputRules are all output rules. Each is an option of its own, "output:<rule>", and one for each generator,
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
	for _, g := range generators() {
		names = append(names, g.name)
	}
	return names
}

// Registry returns the options of the command line as markers, with their documentation.
func Registry() (*markers.Registry, error) {
	registry := &markers.Registry{}
	options := generators()
	for _, rule := range outputRules() {
		options = append(options, named{"output:" + rule.name, rule.value})
		for _, generator := range generators() {
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

// isGenerator reports whether name is that of a generator.
func isGenerator(name string) bool { return slices.Contains(generatorNames(), name) }
