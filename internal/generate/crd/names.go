package crd

import (
	"cmp"
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-tools/pkg/crd"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

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
