package crd

import (
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
)

// SchemaOptions say how the schemas of types are written.
type SchemaOptions struct {
	// MaxDescLen cuts descriptions at the end of a sentence that fits in so many characters. 0 leaves them out; nil
	// keeps them whole.
	MaxDescLen *int
	// EmbeddedObjectMeta writes the fields of a metav1.ObjectMeta that is not the one of a kind.
	EmbeddedObjectMeta bool
	// DangerousTypes allows float32 and float64.
	DangerousTypes bool
	// IgnoreUnexportedFields passes over fields that are not exported.
	IgnoreUnexportedFields bool
}

// NewParser returns what makes schemas of the types in the roots of ctx, the same ones in every run.
func NewParser(ctx genall.GenerationContext, options SchemaOptions) *crd.Parser {
	parser := &crd.Parser{
		Collector:                  ctx.Collector,
		Checker:                    ctx.Checker,
		GenerateEmbeddedObjectMeta: options.EmbeddedObjectMeta,
		AllowDangerousTypes:        options.DangerousTypes,
		IgnoreUnexportedFields:     options.IgnoreUnexportedFields,
	}
	crd.AddKnownTypes(parser)
	orderPackages(parser, ctx.Roots)
	for _, root := range ctx.Roots {
		parser.NeedPackage(root)
	}
	return parser
}
