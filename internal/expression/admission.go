package expression

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/cel-go/cel"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/version"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

// Admission compiles expressions about requests: rules of policies, and match conditions of policies and webhooks. It
// is safe for concurrent use.
type Admission struct {
	// typed has the fields of the kind. API servers compile with untyped, where objects may have any field.
	typed, untyped *cel.Env
	fields         []string
}

// variables are the variables of expressions about requests.
var variables = []string{
	plugincel.ObjectVarName, plugincel.OldObjectVarName, plugincel.RequestVarName, plugincel.NamespaceVarName,
	plugincel.AuthorizerVarName,
}

// NewAdmission returns a compiler of expressions about requests for objects of a kind. A nil schema means that the
// fields of the kind are unknown.
func NewAdmission(kind string, schema *apiextensionsv1.JSONSchemaProps) (*Admission, error) {
	a := &Admission{}
	object := apiservercel.DynType
	if schema != nil {
		object = objectType(*schema).MaybeAssignTypeName(kind)
	}
	a.fields = fieldsOf(object, plugincel.BuildRequestType(), plugincel.BuildNamespaceType())
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	var err, failure error
	a.typed, err = requestEnv(base, object)
	a.untyped, failure = requestEnv(base, apiservercel.DynType)
	if err := errors.Join(err, failure); err != nil {
		return nil, fmt.Errorf("types for expressions about %s: %w", kind, err)
	}
	return a, nil
}

// requestEnv returns the environment of expressions about requests for objects of a type.
func requestEnv(base *environment.EnvSet, object *apiservercel.DeclType) (*cel.Env, error) {
	request, namespace := plugincel.BuildRequestType(), plugincel.BuildNamespaceType()
	types := []*apiservercel.DeclType{request, namespace}
	if object.IsObject() {
		types = append(types, object)
	}
	set, err := base.Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		DeclTypes:         types,
		EnvOptions: []cel.EnvOption{
			cel.Variable(plugincel.ObjectVarName, object.CelType()), cel.Variable(plugincel.OldObjectVarName, object.CelType()),
			cel.Variable(plugincel.RequestVarName, request.CelType()), cel.Variable(plugincel.NamespaceVarName,
				namespace.CelType()),
			cel.Variable(plugincel.AuthorizerVarName, library.AuthorizerType),
			cel.Variable(plugincel.RequestResourceAuthorizerVarName, library.ResourceCheckType),
		},
	})
	if err != nil {
		return nil, err
	}
	return set.NewExpressionsEnv(), nil
}

// Check returns the problem of a boolean expression, or nil. stored is the expression as API servers receive it,
// possibly inside a longer text. Fields without a schema have the dynamic type.
func (a *Admission) Check(expression, stored string) *Problem {
	ast, issues := a.typed.Compile(expression)
	if problem := problemOf(issues); problem != nil {
		problem.name(a.fields, variables)
		return problem
	}
	if t := ast.OutputType(); !isBool(ast) && !t.IsExactType(cel.DynType) {
		return &Problem{Message: "want true or false, and this is " + typeName(t)}
	}
	ast, issues = a.untyped.Compile(stored)
	if problem := problemOf(issues); problem != nil {
		problem.Line, problem.Column = 0, 0 // the position is in the stored text
		return problem
	}
	if !isBool(ast) {
		return &Problem{Message: "API servers do not know whether this is true or false: what objects of a kind have is " +
			"nothing to them", Hint: "compare it: " + expression + " == true"}
	}
	return nil
}

// objectType returns the type of whole objects. Their metadata has the type that API servers use for all objects.
func objectType(schema apiextensionsv1.JSONSchemaProps) *apiservercel.DeclType {
	whole := schema
	whole.Properties = maps.Clone(schema.Properties)
	if whole.Properties == nil {
		whole.Properties = map[string]apiextensionsv1.JSONSchemaProps{}
	}
	whole.Properties["apiVersion"], whole.Properties["kind"], whole.Properties["metadata"] = ofType("string"),
		ofType("string"), metadata
	return typeOf(&whole)
}

func ofType(name string) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{Type: name}
}

// metadata is the schema of the metadata of objects. Timestamps, owner references and managed fields have the dynamic
// type.
var metadata = apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
	"name": ofType("string"), "generateName": ofType("string"), "namespace": ofType("string"),
	"selfLink": ofType("string"),
	"uid":      ofType("string"), "resourceVersion": ofType("string"), "generation": ofType("integer"),
	"creationTimestamp": {}, "deletionTimestamp": {}, "deletionGracePeriodSeconds": ofType("integer"),
	"labels": mapOf(ofType("string")), "annotations": mapOf(ofType("string")), "finalizers": listOf(ofType("string")),
	"ownerReferences": listOf(apiextensionsv1.JSONSchemaProps{}),
	"managedFields":   listOf(apiextensionsv1.JSONSchemaProps{}),
}}

func mapOf(value apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{Type: "object",
		AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &value}}
}

func listOf(item apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &item}}
}

// anyFormat lists formats whose values are strings in request objects, but have another type in CRD rules.
var anyFormat = []string{"date", "date-time", "datetime", "duration", "byte", "binary"}

// typeOf returns the type that a schema describes. A value that may have fields beyond its schema has the dynamic type.
func typeOf(s *apiextensionsv1.JSONSchemaProps) *apiservercel.DeclType {
	preserves := s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
	if s.XIntOrString || s.XEmbeddedResource || preserves || slices.Contains(anyFormat, s.Format) {
		return apiservercel.DynType
	}
	switch s.Type {
	case "string":
		return apiservercel.StringType
	case "boolean":
		return apiservercel.BoolType
	case "integer":
		return apiservercel.IntType
	case "number":
		return apiservercel.DoubleType
	case "array":
		if s.Items != nil && s.Items.Schema != nil {
			return apiservercel.NewListType(typeOf(s.Items.Schema), -1)
		}
	case "object":
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			return apiservercel.NewMapType(apiservercel.StringType, typeOf(s.AdditionalProperties.Schema), -1)
		}
		if len(s.Properties) > 0 {
			return structType(s)
		}
	}
	return apiservercel.DynType
}

func structType(s *apiextensionsv1.JSONSchemaProps) *apiservercel.DeclType {
	fields := map[string]*apiservercel.DeclField{}
	for name, schema := range s.Properties {
		if escaped, ok := apiservercel.Escape(name); ok {
			fields[escaped] = apiservercel.NewDeclField(escaped, typeOf(&schema), slices.Contains(s.Required, name), nil, nil)
		}
	}
	return apiservercel.NewObjectType("object", fields)
}
