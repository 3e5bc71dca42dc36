package compat

import (
	"maps"
	"slices"

	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/genall/help"
	"sigs.k8s.io/controller-tools/pkg/markers"
)

// OptionHelp documents all options of the command line, by what they are for.
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
