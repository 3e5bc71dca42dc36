package applyconfig

import (
	"path"

	"k8s.io/kube-openapi/pkg/util/proto"
)

// writeUtils writes the function that knows the apply configuration of every kind.
func (g *generation) writeUtils(f *file) {
	kind := f.qualified("k8s.io/apimachinery/pkg/runtime/schema", "GroupVersionKind")
	f.printf(`
// ForKind returns an apply configuration type for the given GroupVersionKind, or nil if no
// apply configuration type exists for the given GroupVersionKind.
func ForKind(kind %s) interface{} {
switch kind {
`, kind)
	types := g.generated()
	if len(types) > 0 {
		group := g.group
		if group == "" {
			group = "core"
		}
		f.printf("// Group=%s, Version=%s\n", group, g.version)
	}
	for _, t := range types {
		version := f.qualified(g.pkg.PkgPath, "SchemeGroupVersion")
		config := f.qualified(path.Join(g.path, g.subfolder()), t.name+suffix)
		f.printf("case %s.WithKind(%q):\nreturn &%s{}\n", version, upper(t.name), config)
	}
	if len(types) > 0 {
		f.printf("\n")
	}
	f.printf("}\nreturn nil\n}\n")
	const managedFields = "k8s.io/apimachinery/pkg/util/managedfields"
	scheme := f.qualified("k8s.io/apimachinery/pkg/runtime", "Scheme")
	converter := f.qualified(managedFields, "TypeConverter")
	constructor := f.qualified(managedFields, "NewSchemeTypeConverter")
	parser := f.qualified(path.Join(g.path, "internal"), "Parser")
	f.printf("\nfunc NewTypeConverter(scheme *%s) %s {\nreturn %s(scheme, %s())\n}\n", scheme, converter, constructor, parser)
}

// writeInternal writes the schemas.
func writeInternal(f *file, schema string) {
	const typed = "sigs.k8s.io/structured-merge-diff/v6/typed"
	parser := f.qualified(typed, "Parser")
	constructor := f.qualified(typed, "NewParser")
	sprintf := f.qualified("fmt", "Sprintf")
	once := f.qualified("sync", "Once")
	object := f.qualified(typed, "YAMLObject")
	f.printf(`
func Parser() *%[1]s {
parserOnce.Do(func() {
var err error
parser, err = %[2]s(schemaYAML)
if err != nil {
panic(%[3]s("Failed to parse schema: %%v", err))
}
})
return parser
}

var parserOnce %[4]s
var parser *%[1]s
var schemaYAML = %[5]s(`+"`%[6]s`"+`)
`, parser, constructor, sprintf, once, object, schema)
}

// emptySchema is the schema of no types.
func emptySchema() (string, error) { return marshalModels(&proto.Definitions{}) }
