package crd

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/loader"
)

// constants is "+k8s:enum": the values are the constants of the type in its package, each once, in order. The marker of
// controller-tools counts only those that are written as literals, and panics at one that repeats the line above.
type constants struct{ crdmarkers.K8sEnum }

// ApplyToSchema sets the values.
func (c constants) ApplyToSchema(ctx *crdmarkers.SchemaContext, schema *apiextensionsv1.JSONSchemaProps) error {
	if ctx == nil || ctx.Package == nil || ctx.TypeInfo == nil || ctx.TypeInfo.RawSpec == nil {
		return fmt.Errorf("k8s:enum requires type context")
	}
	enum := ctx.Package.TypesInfo.Defs[ctx.TypeInfo.RawSpec.Name]
	if enum == nil {
		return fmt.Errorf("unknown enum type %s", ctx.TypeInfo.Name)
	}
	if basic, ok := enum.Type().Underlying().(*types.Basic); !ok || basic.Info()&types.IsString == 0 {
		return fmt.Errorf("enum type must be a string, not %s", enum.Type())
	}
	values := constantsOf(ctx.Package, enum.Type())
	if len(values) == 0 {
		return fmt.Errorf("no enum values found for type %s", ctx.TypeInfo.Name)
	}
	schema.Type, schema.Enum = "string", nil
	for _, value := range values {
		schema.Enum = append(schema.Enum, apiextensionsv1.JSON{Raw: []byte(value)})
	}
	return nil
}

// constantsOf returns the constants of a string type that its package declares, in JSON, each once, in order.
func constantsOf(pkg *loader.Package, enum types.Type) []string {
	var values []string
	for _, file := range pkg.Syntax {
		for _, decl := range file.Decls {
			general, ok := decl.(*ast.GenDecl)
			if !ok || general.Tok != token.CONST {
				continue
			}
			for _, spec := range general.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					declared, ok := pkg.TypesInfo.Defs[name].(*types.Const)
					if !ok || !types.Identical(declared.Type(), enum) || declared.Val().Kind() != constant.String {
						continue
					}
					value, err := json.Marshal(constant.StringVal(declared.Val()))
					if err == nil {
						values = append(values, string(value))
					}
				}
			}
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}
