package markers

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-tools/pkg/crd"

	"sigs.k8s.io/controller-tools/pkg/markers"
)

// TestEveryMarkerIsExplained requires, for every marker of the registry, a summary, an example that parses at every
// target, and a line for each argument.
func TestEveryMarkerIsExplained(t *testing.T) {
	registry, err := NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	for _, definition := range registry.AllDefinitions() {
		help, ok := registry.Help(definition.Name)
		if !ok {
			t.Errorf("+%s has no help", definition.Name)
			continue
		}
		checkHelp(t, registry, help)
	}
	if got, want := len(registry.Explain()), len(registry.names); got != want {
		t.Errorf("%d markers are explained, want %d", got, want)
	}
}

func checkHelp(t *testing.T, registry *Registry, help Help) {
	t.Helper()
	if help.Summary == "" || !strings.HasSuffix(help.Summary, ".") || !slices.Contains(Groups, help.Group) {
		t.Errorf("+%s: summary %q, group %q", help.Name, help.Summary, help.Group)
	}
	if help.Instead != "" && registry.Definition("+"+help.Instead) == nil {
		t.Errorf("+%s names +%s, which is not known", help.Name, help.Instead)
	}
	for _, argument := range help.Arguments {
		if argument.Name != "" && argument.Summary == "" {
			t.Errorf("+%s: argument %s has no summary", help.Name, argument.Name)
		}
	}
	parsed := 0
	for _, target := range allTargets {
		definition := registry.Lookup(help.Example, target)
		if definition == nil || definition.Name != help.Name {
			continue
		}
		if _, err := definition.Parse(help.Example); err != nil {
			t.Errorf("+%s: example %s: %v", help.Name, help.Example, err)
		}
		parsed++
	}
	if parsed < len(help.Targets) || len(help.Targets) == 0 {
		t.Errorf("+%s: the example parses at %d targets of %d", help.Name, parsed, len(help.Targets))
	}
}

// TestHelpIsAboutKnownMarkers rejects help for markers and arguments that do not exist.
func TestHelpIsAboutKnownMarkers(t *testing.T) {
	registry, err := NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range table {
		definition := registry.Definition("+" + name)
		if definition == nil || definition.Name != name {
			t.Errorf("there is a row for +%s, which is not known", name)
			continue
		}
		for argument := range maps.Keys(text.arguments) {
			if _, known := definition.Fields[argument]; !known {
				t.Errorf("the row of +%s has an argument %s, which is not known", name, argument)
			}
		}
	}
}

// TestHelpIsOurs rejects help that is copied from controller-tools.
func TestHelpIsOurs(t *testing.T) {
	registry, err := NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	for _, definition := range registry.AllDefinitions() {
		theirs := registry.HelpFor(definition)
		help, _ := registry.Help(definition.Name)
		if theirs == nil {
			continue
		}
		for _, text := range theirTexts(theirs) {
			if len(text) > 20 && strings.Contains(help.Summary+" "+help.Details, text) {
				t.Errorf("+%s: %q is not kctrl's own text", definition.Name, text)
			}
		}
	}
}

func theirTexts(help *markers.DefinitionHelp) []string {
	texts := strings.Split(help.Summary+"\n"+help.Details, "\n")
	for _, field := range help.FieldHelp {
		texts = append(texts, field.Summary)
	}
	for i, text := range texts {
		texts[i] = strings.TrimSpace(text)
	}
	return texts
}

// TestEveryMarkerHasItsRow rejects definitions without a row, and rows of schema markers without the kinds of values or
// the limits that lint needs.
func TestEveryMarkerHasItsRow(t *testing.T) {
	registry, err := NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	for _, definition := range registry.AllDefinitions() {
		if _, ok := rowOf(definition.Name); !ok {
			t.Errorf("+%s has no row in table", definition.Name)
			continue
		}
		rules := RulesOf(definition.Name)
		value := reflect.New(definition.Output).Elem()
		if _, ofSchema := value.Interface().(crd.SchemaMarker); ofSchema && rules.About == nil {
			t.Errorf("the row of +%s does not say which values it is about", definition.Name)
		}
		if (value.CanInt() || value.CanFloat()) && rules.Limit.Of == "" && lastPart(definition.Name) != "MultipleOf" {
			t.Errorf("the row of +%s does not say what its number limits", definition.Name)
		}
		for _, otherwise := range rules.Otherwise {
			if registry.Definition("+kubebuilder:validation:"+otherwise) == nil {
				t.Errorf("the row of +%s names %s, which is not known", definition.Name, otherwise)
			}
		}
	}
}
