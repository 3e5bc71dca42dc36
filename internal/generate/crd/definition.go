package crd

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gobuffalo/flect"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/loader"
	ctmarkers "sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// versionType is the Go type of a kind in one version.
type versionType struct {
	ident   crd.TypeIdent
	version string
	info    *ctmarkers.TypeInfo
}

// define creates the definition of a kind. types are the types of all its versions; define returns nil if types is
// empty. The types of several versions may have markers about the whole kind. The storage version takes precedence,
// while in controller-tools the order of a map decides.
func define(parser *crd.Parser, kind schema.GroupKind, types []versionType,
	maxDescLen *int) *apiextensionsv1.CustomResourceDefinition {
	definition := newDefinition(kind)
	for _, t := range types {
		NeedSchema(parser, t.ident)
		parser.NeedFlattenedSchemaFor(t.ident)
		// It is a copy that is not used again, and the copies of many kinds are large.
		props := new(parser.FlattenedSchemata[t.ident])
		delete(parser.FlattenedSchemata, t.ident)
		if maxDescLen != nil {
			crd.TruncateDescription(props, *maxDescLen)
		}
		definition.Spec.Versions = append(definition.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name:   t.version,
			Served: true,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: props},
		})
	}
	for _, t := range types {
		t.applyMarkers(definition)
	}
	definition.Name = definition.Spec.Names.Plural + "." + kind.Group
	if len(definition.Spec.Versions) == 0 {
		return nil
	}
	slices.SortStableFunc(definition.Spec.Versions, func(a, b apiextensionsv1.CustomResourceDefinitionVersion) int {
		return strings.Compare(a.Name, b.Name)
	})
	if len(definition.Spec.Versions) == 1 {
		definition.Spec.Versions[0].Storage = true
	}
	types[len(types)-1].checkVersions(definition, kind)
	return definition
}

func newDefinition(kind schema.GroupKind) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		TypeMeta: metav1.TypeMeta{
			APIVersion: apiextensionsv1.SchemeGroupVersion.String(),
			Kind:       "CustomResourceDefinition",
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: kind.Group,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Kind:     kind.Kind,
				ListKind: kind.Kind + "List",
				Plural:   strings.ToLower(flect.Pluralize(kind.Kind)),
				Singular: strings.ToLower(kind.Kind),
			},
			Scope: apiextensionsv1.NamespaceScoped,
		},
	}
}

// versionTypes returns the types of all versions of a kind, the storage version last.
func versionTypes(parser *crd.Parser, kind schema.GroupKind) []versionType {
	var types []versionType
	for pkg, gv := range parser.GroupVersions {
		ident := crd.TypeIdent{Package: pkg, Name: kind.Kind}
		if info := parser.Types[ident]; gv.Group == kind.Group && info != nil {
			types = append(types, versionType{ident, gv.Version, info})
		}
	}
	slices.SortFunc(types, func(a, b versionType) int {
		return cmp.Or(
			cmp.Compare(len(a.info.Markers["kubebuilder:storageversion"]), len(b.info.Markers["kubebuilder:storageversion"])),
			cmp.Compare(a.version, b.version), cmp.Compare(a.ident.Package.PkgPath, b.ident.Package.PkgPath),
		)
	})
	return types
}

// reportTwins reports types that are the same version of a kind, and returns whether there are any.
func reportTwins(types []versionType, kind schema.GroupKind) bool {
	first, found := map[string]versionType{}, false
	for _, t := range types {
		before, twin := first[t.version]
		if !twin {
			first[t.version] = t
			continue
		}
		found = true
		pkg := t.ident.Package
		err := fmt.Errorf("%s.%s and %s.%s are both version %s of %s", before.ident.Package.PkgPath, kind.Kind, pkg.PkgPath,
			kind.Kind, t.version, kind)
		pkg.AddError(loader.ErrFromNode(err, t.info.RawSpec))
	}
	return found
}

// applyMarkers applies the markers of a type about its kind, ordered by name. The marker that removes the version comes
// last, because the others apply to the version.
func (t versionType) applyMarkers(definition *apiextensionsv1.CustomResourceDefinition) {
	names := slices.SortedFunc(maps.Keys(t.info.Markers), func(a, b string) int {
		return cmp.Or(cmp.Compare(takesAway(a), takesAway(b)), cmp.Compare(a, b))
	})
	for _, name := range names {
		for _, value := range t.info.Markers[name] {
			var err error
			switch marker := value.(type) {
			case crd.SpecMarker:
				err = marker.ApplyToCRD(&definition.Spec, t.version)
			case crd.Marker:
				err = marker.ApplyToCRD(definition, t.version)
			}
			if err != nil {
				t.ident.Package.AddError(loader.ErrFromNode(err, t.info.RawSpec))
			}
		}
	}
}

func takesAway(marker string) int {
	if marker == "kubebuilder:skipversion" {
		return 1
	}
	return 0
}

// checkVersions reports a kind whose versions the API server would reject.
func (t versionType) checkVersions(definition *apiextensionsv1.CustomResourceDefinition, kind schema.GroupKind) {
	stored, served := false, false
	for _, version := range definition.Spec.Versions {
		stored = stored || version.Storage
		served = served || version.Served
	}
	if !stored {
		t.ident.Package.AddError(loader.ErrFromNode(fmt.Errorf("CRD for %s has no storage version", kind), t.info.RawSpec))
	}
	if !served {
		t.ident.Package.AddError(loader.ErrFromNode(fmt.Errorf("CRD for %s does not serve any version", kind),
			t.info.RawSpec))
	}
}

// CodeName is the code for a name that two kinds in a group share.
const CodeName = "duplicate-name"

// namesCheck finds names for which API servers do not serve a kind: within a group each plural, singular and short name
// belongs to one resource.
type namesCheck struct {
	dir   string
	named []namedKind
}

type namedKind struct {
	group string
	names apiextensionsv1.CustomResourceDefinitionNames
	ident crd.TypeIdent
}

func (c *namesCheck) add(definition *apiextensionsv1.CustomResourceDefinition, types []versionType) {
	c.named = append(c.named, namedKind{group: definition.Spec.Group, names: definition.Spec.Names,
		ident: types[len(types)-1].ident})
}

// check returns an error for each name that is already in use. Plurals take precedence over singulars, and these over
// short names.
func (c *namesCheck) check(parser *crd.Parser) error {
	type name struct{ group, name string }
	type owner struct {
		kind int // index in named
		what string
	}
	owners := map[name]owner{}
	var errs []error
	for _, form := range []struct {
		what, argument string
		of             func(apiextensionsv1.CustomResourceDefinitionNames) []string
	}{
		{"plural", "path", func(n apiextensionsv1.CustomResourceDefinitionNames) []string { return []string{n.Plural} }},
		{"singular", "singular",
			func(n apiextensionsv1.CustomResourceDefinitionNames) []string { return []string{n.Singular} }},
		{"short name", "shortName", func(n apiextensionsv1.CustomResourceDefinitionNames) []string { return n.ShortNames }},
	} {
		for i, kind := range c.named {
			for _, text := range form.of(kind.names) {
				key := name{kind.group, text}
				first, taken := owners[key]
				switch {
				case !taken:
					owners[key] = owner{i, form.what}
				case first.kind != i:
					pkg := kind.ident.Package
					errs = append(errs, &diagnostic.Error{
						Code: CodeName,
						Pos:  diagnostic.Relative(c.dir, pkg.Fset.Position(parser.Types[kind.ident].RawSpec.Pos())),
						Message: fmt.Sprintf("the %s %s of %s is the %s of %s, and API servers take a name once in the group %s",
							form.what, diagnostic.Quote(text), kind.names.Kind, first.what, c.named[first.kind].names.Kind,
							cmp.Or(kind.group, `""`)),
						Hint: fmt.Sprintf("give it another one by +kubebuilder:resource:%s=", form.argument),
					})
				}
			}
		}
	}
	return errors.Join(errs...)
}
