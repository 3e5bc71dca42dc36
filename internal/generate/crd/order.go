package crd

import (
	"maps"
	"slices"

	"sigs.k8s.io/controller-tools/pkg/crd"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/kctrl-dev/kctrl/internal/load"
)

// orderPackages makes the markers of every package that parser may come to apply in the same order in every run: by
// priority, then by name, then as they stand in the source. The parser orders them by priority only, and takes those of
// one priority as the iteration over a map gives them.
//
// It also makes the parser understand the generic types of these packages.
func orderPackages(parser *crd.Parser, roots []*loader.Package) {
	reachable := load.Reachable(roots)
	instances := newInstances(parser, reachable)
	for pkg := range reachable {
		path := loader.NonVendorPath(pkg.PkgPath)
		load := parser.PackageOverrides[path]
		if load == nil {
			load = (*crd.Parser).AddPackage
		}
		parser.PackageOverrides[path] = func(p *crd.Parser, pkg *loader.Package) {
			orderMarkers(p, pkg)
			load(p, pkg)
			instances.expand(pkg)
		}
	}
}

// orderMarkers gives each marker of a package a priority of its own. Markers that cannot be read are the parser's to
// report.
func orderMarkers(parser *crd.Parser, pkg *loader.Package) {
	nodes, err := parser.Collector.MarkersInPackage(pkg)
	if err != nil {
		return
	}
	for _, values := range nodes {
		for rank, name := range slices.Sorted(maps.Keys(values)) {
			for i, value := range values[name] {
				values[name][i] = withRank(parser, value, rank)
			}
		}
	}
}

// ranks is more than the number of names that one type or field can have.
const ranks = 1 << 16

// withRank puts a schema marker in its place among those of the same priority. Markers above the default priority have
// one each, and are asked for by their Go type: these stay as they are, and after all others.
func withRank(parser *crd.Parser, value any, rank int) any {
	marker, ok := value.(crd.SchemaMarker)
	if !ok {
		return value
	}
	if _, done := value.(ordered); done {
		return value
	}
	if enum, ok := value.(crdmarkers.K8sEnum); ok {
		marker = constants{enum}
	}
	priority := crdmarkers.ApplyPriorityDefault
	switch m := value.(type) {
	case crdmarkers.ApplyPriorityMarker:
		priority = m.ApplyPriority()
	case interface{ ApplyFirst() }:
		priority = crdmarkers.ApplyPriorityFirst
	}
	if priority > crdmarkers.ApplyPriorityDefault {
		return value
	}
	return ordered{limit{marker, parser}, (priority-crdmarkers.ApplyPriorityDefault-1)*ranks + crdmarkers.ApplyPriority(rank)}
}
