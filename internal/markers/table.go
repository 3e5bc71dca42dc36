package markers

import (
	"reflect"
	"strings"

	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/markers"
)

// row has everything about a marker except its definition: its documentation and the rules for lint. Markers for items
// of lists have the row of the marker that they repeat.
type row struct {
	group     string
	summary   string
	details   string
	example   string
	instead   string // replacement of a deprecated marker
	arguments map[string]argument

	Rules
}

type argument struct {
	summary  string
	fallback string   // default value
	values   []string // valid values; nil for any
	path     bool     // the value is a path in an object, such as .spec.replicas
}

// Rules are the rules for values, fields and other markers in the place of a marker.
type Rules struct {
	// About are the kinds of values that the marker applies to. Empty means all.
	About []Kind
	// Otherwise maps other kinds of values to the last part of the name of the marker for that kind.
	Otherwise map[Kind]string
	// Limit is the limit that the number in the marker sets.
	Limit Limit
	// Single reports whether only the last of several such markers on one type or field takes effect.
	Single bool
	// Presence is whether the marker makes a field optional or required.
	Presence Presence
	// Anywhere reports whether the marker is about the whole project, so that the declaration after it does not matter.
	Anywhere bool
	// Copies reports whether a marker with a value requests deep copies. It is nil for markers that do not affect deep
	// copies.
	Copies func(value any) bool
	// Values are the valid values of the marker. Nil means all.
	Values []string
}

// Kind is the JSON type of a value. The zero value means unknown.
type Kind string

// The kinds.
const (
	KindString  Kind = "string"
	KindInteger Kind = "integer"
	KindNumber  Kind = "number"
	KindBoolean Kind = "boolean"
	KindArray   Kind = "array"
	KindMap     Kind = "map" // an object with any keys
	KindStruct  Kind = "object"
)

var (
	anything = []Kind{} // not nil, which means unspecified
	numbers  = []Kind{KindInteger, KindNumber}
	strs     = []Kind{KindString}
	lists    = []Kind{KindArray}
	objects  = []Kind{KindMap, KindStruct}
)

// Limit is a lower or upper limit.
type Limit struct {
	Of    Measure
	Upper bool
}

// Measure is the property of a value that a limit applies to. The zero value means none.
type Measure string

// The measures.
const (
	OfValue      Measure = "value"
	OfLength     Measure = "length"
	OfItems      Measure = "items"
	OfProperties Measure = "properties"
)

// Presence is whether a field is optional or required.
type Presence string

// The values of Presence.
const (
	Optional Presence = "optional"
	Required Presence = "required"
)

// asksLegacy reports whether a value of k8s:deepcopy-gen requests deep copies.
func asksLegacy(value any) bool {
	raw, _ := value.(markers.RawArguments)
	return strings.HasPrefix(string(raw), "package") || string(raw) == "true"
}

// RulesOf returns the rules of the marker with a name. They are empty for an unknown marker.
func RulesOf(name string) Rules {
	if rest, ok := strings.CutPrefix(name, crdmarkers.ValidationItemsPrefix); ok {
		name = "kubebuilder:validation:" + rest
	}
	return table[name].Rules
}

// Arguments returns the valid values of the arguments by name, and the names of the arguments that are paths.
func (m Marker) Arguments() (values map[string][]string, paths []string) {
	known, _ := rowOf(m.Definition.Name)
	values = map[string][]string{}
	for name, a := range known.arguments {
		if a.values != nil {
			values[name] = a.values
		}
		if a.path {
			paths = append(paths, name)
		}
	}
	return values, paths
}

// Argument returns the string value of an argument. The value of the marker itself has the name "". It returns false if
// an optional argument is missing or the value is not a string.
func (m Marker) Argument(name string) (text string, given bool) {
	value := reflect.ValueOf(m.Value)
	if value.Kind() == reflect.Struct {
		value = value.FieldByName(m.Definition.FieldNames[name])
	}
	if value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	if value.Kind() != reflect.String {
		return "", false
	}
	return value.String(), value.String() != "" || !m.Definition.Fields[name].Optional
}

// table has a row for every marker, by subject.
var table = map[string]row{
	// API packages and the code that is generated for them.
	"groupName": {
		group: "API packages", summary: "Sets the API group of the kinds in the package.",
		details: "The package then defines a version of an API, and its kinds become CRDs. Write the marker above the " +
			"package clause.",
		example: "+groupName=batch.example.com",
	},
	"versionName": {
		group: "API packages", summary: "Sets the API version of the package if it differs from the name of the Go package.",
		example: "+versionName=v1beta1",
	},
	"kubebuilder:skip": {
		group: "API packages", summary: "Excludes the package, so that it does not define an API version.",
		example: "+kubebuilder:skip",
	},
	"kubebuilder:object:generate": {
		group:   "Deep copies",
		summary: "Generates deep copy methods for the type, or for all types in the package.",
		details: "On a type, the value false excludes the type.",
		example: "+kubebuilder:object:generate=true",
		Rules:   Rules{Copies: func(value any) bool { return value != false }},
	},
	"kubebuilder:object:root": {
		group: "Deep copies", summary: "Declares a kind or the list of a kind, and generates the DeepCopyObject method of " +
			"runtime.Object.",
		example: "+kubebuilder:object:root=true",
		Rules:   Rules{Copies: func(value any) bool { return value != false }},
	},
	"k8s:deepcopy-gen": {
		group: "Deep copies", summary: "Generates deep copies, as Kubernetes' own generator does.",
		details: "On a package, the value is package; on a type, it is true or false.",
		example: "+k8s:deepcopy-gen=package", instead: "kubebuilder:object:generate",
		Rules: Rules{Copies: asksLegacy},
	},
	"k8s:deepcopy-gen:interfaces": {
		group: "Deep copies", summary: "Generates a DeepCopyObject method, as Kubernetes' own generator does.",
		example: "+k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object", instead: "kubebuilder:object:root",
		Rules: Rules{Copies: func(any) bool { return true }},
	},
	"kubebuilder:ac:generate": {
		group: "Apply configurations", summary: "Generates apply configurations, which are types for server-side apply in " +
			"which every field may be unset.",
		details: "On a package, the marker applies to all kinds; on a type, the value false excludes the type.",
		example: "+kubebuilder:ac:generate=true",
	},
	"kubebuilder:ac:output:package": {
		group: "Apply configurations", summary: "Sets the directory for apply configurations, relative to the directory " +
			"of the package.",
		example: `+kubebuilder:ac:output:package="applyconfiguration"`,
	},
	// How the API server serves a kind.
	"kubebuilder:resource": {
		group: "Kinds", summary: "Sets the names of the kind in URLs and on the command line, and its scope.",
		example: "+kubebuilder:resource:scope=Cluster,shortName=cj;crj,categories=all",
		arguments: map[string]argument{
			"path":       {summary: "The plural name in URLs.", fallback: "the plural of the kind in lower case"},
			"shortName":  {summary: "Short names on the command line."},
			"categories": {summary: "Groups of resources that include the kind, such as all for kubectl get all."},
			"singular":   {summary: "The name for one object on the command line.", fallback: "the kind in lower case"},
			"scope":      {summary: "Namespaced or Cluster.", fallback: "Namespaced", values: []string{"Cluster", "Namespaced"}},
		},
	},
	"kubebuilder:subresource:status": {
		group: "Kinds", summary: "Enables the status subresource, so that updates of the spec ignore the status, and the " +
			"reverse.",
		example: "+kubebuilder:subresource:status",
	},
	"kubebuilder:subresource:scale": {
		group: "Kinds", summary: "Enables the scale subresource, which kubectl scale and autoscalers use.",
		example: "+kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector",
		arguments: map[string]argument{
			"specpath":   {summary: "The path of the desired number of replicas.", path: true},
			"statuspath": {summary: "The path of the current number of replicas.", path: true},
			"selectorpath": {summary: "The path of a string with the label selector of the pods, for HorizontalPodAutoscaler.",
				path: true},
		},
		Rules: Rules{Single: true},
	},
	"kubebuilder:printcolumn": {
		group: "Kinds", summary: "Adds a column to the output of kubectl get.",
		details: "If a kind has such columns, kubectl get does not show the default column AGE.",
		example: "+kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp",
		arguments: map[string]argument{
			"name": {summary: "The title of the column."},
			"type": {summary: "The type of the value: boolean, date, integer, number or string.",
				values: []string{"boolean", "date", "integer", "number", "string"}},
			"JSONPath":    {summary: "The path of the value; it begins with a dot.", path: true},
			"description": {summary: "A description of the column."},
			"format": {summary: "The format of the value, such as int32 or date-time.",
				values: []string{"byte", "date", "date-time", "double", "float", "int32", "int64", "password"}},
			"priority": {summary: "0 always shows the column; higher numbers show it only with -o wide.", fallback: "0"},
		},
	},
	"kubebuilder:selectablefield": {
		group: "Kinds", summary: "Lets clients list objects by the value of a field.",
		example: "+kubebuilder:selectablefield:JSONPath=.spec.color",
		arguments: map[string]argument{
			"JSONPath": {summary: "The path of a string, integer or boolean outside of lists.", path: true},
		},
	},
	ValidExample: {
		group: "Kinds", summary: "Contains an object of the kind, in JSON or YAML; kctrl verify checks that API servers " +
			"accept it.",
		details: "The command adds apiVersion, kind and a name.",
		example: "+kctrl:example:valid=`{spec: {schedule: '@daily'}}`",
	},
	InvalidExample: {
		group: "Kinds", summary: "Contains an object of the kind; kctrl verify checks that API servers reject it.",
		example: "+kctrl:example:invalid:object=`{spec: {schedule: ''}}`,message=`should be at least 1 chars long`",
		arguments: map[string]argument{
			"object":  {summary: "The object, in JSON or YAML, without apiVersion, kind and metadata."},
			"message": {summary: "Words that the error message must contain.", fallback: "any"},
		},
	},
	"kubebuilder:storageversion": {
		group: "Kinds", summary: "Stores objects in this version. Exactly one version of a kind must have the marker.",
		example: "+kubebuilder:storageversion",
	},
	"kubebuilder:unservedversion": {
		group: "Kinds", summary: "Keeps the version in the CRD without serving it.",
		example: "+kubebuilder:unservedversion",
	},
	"kubebuilder:skipversion": {
		group: "Kinds", summary: "Excludes the version from the CRD.",
		example: "+kubebuilder:skipversion",
	},
	"kubebuilder:deprecatedversion": {
		group: "Kinds", summary: "Makes the API server send a warning to clients that use the version.",
		example: `+kubebuilder:deprecatedversion:warning="example.com/v1beta1 CronJob is deprecated; use v1"`,
		arguments: map[string]argument{
			"warning": {summary: "The text of the warning.", fallback: "the server's text"},
		},
		Rules: Rules{Single: true},
	},
	"kubebuilder:metadata": {
		group: "Kinds", summary: "Adds annotations and labels to the CRD.",
		example: `+kubebuilder:metadata:annotations="example.com/owner=team-a",labels="example.com/tier=1"`,
		arguments: map[string]argument{
			"annotations": {summary: "Annotations, each as key=value."},
			"labels":      {summary: "Labels, each as key=value."},
		},
	},
	// Presence, defaults, and merging of lists and maps.
	"optional": {
		group: "Presence and defaults", summary: "Makes the field optional.",
		details: "Fields with omitempty or omitzero in the JSON tag are optional by default.",
		example: "+optional",
		Rules:   Rules{Presence: Optional},
	},
	"required": {
		group: "Presence and defaults", summary: "Makes the field required.",
		example: "+required",
		Rules:   Rules{Presence: Required},
	},
	"k8s:optional": {
		group: "Presence and defaults", summary: "Makes the field optional, like the marker optional.",
		example: "+k8s:optional",
		Rules:   Rules{Presence: Optional},
	},
	"k8s:required": {
		group: "Presence and defaults", summary: "Makes the field required and not empty: a string, list or map must have " +
			"at least one character, item or key.",
		example: "+k8s:required",
		Rules:   Rules{About: anything, Presence: Required},
	},
	"kubebuilder:validation:Optional": {
		group: "Presence and defaults", summary: "Makes the field optional; on a package, makes every field without a " +
			"marker optional.",
		example: "+kubebuilder:validation:Optional", instead: "optional",
		Rules: Rules{Presence: Optional},
	},
	"kubebuilder:validation:Required": {
		group: "Presence and defaults", summary: "Makes the field required. On a package, the marker has no effect.",
		example: "+kubebuilder:validation:Required", instead: "required",
		Rules: Rules{Presence: Required},
	},
	"nullable": {
		group: "Presence and defaults", summary: "Accepts null, which the API server then stores; without the marker, " +
			"null means unset.",
		example: "+nullable",
		Rules:   Rules{About: anything},
	},
	"kubebuilder:default": {
		group: "Presence and defaults", summary: "Sets the field to the value if the client does not set it.",
		details: "Write strings in quotes, and lists and objects in braces, such as {a,b} and {key: value}. The value " +
			"must satisfy the other markers of the field.",
		example: `+kubebuilder:default="Always"`,
		Rules:   Rules{About: anything, Single: true},
	},
	"default": {
		group: "Presence and defaults", summary: "Sets the field to a JSON value if the client does not set it.",
		details: "The marker kubebuilder:default takes precedence. Values such as ref(...) are for other tools.",
		example: `+default="Always"`,
		arguments: map[string]argument{
			"value": {summary: "The JSON value, which directly follows the name of the marker."},
		},
		Rules: Rules{About: anything, Single: true},
	},
	"kubebuilder:example": {
		group: "Presence and defaults", summary: "Adds an example value to the schema.",
		example: `+kubebuilder:example="10.0.0.1"`,
		Rules:   Rules{About: anything, Single: true},
	},
	"k8s:immutable": {
		group: "Presence and defaults", summary: "Rejects changes to the field after it is set.",
		example: "+k8s:immutable",
		Rules:   Rules{About: anything},
	},
	"listType": {
		group: "Lists", summary: "Sets how server-side apply merges the list.",
		details: "The value atomic replaces the whole list. The value set merges unique items. The value map merges items " +
			"with equal keys; see listMapKey.",
		example: "+listType=map",
		Rules:   Rules{About: lists, Single: true, Values: []string{"atomic", "map", "set"}},
	},
	"listMapKey": {
		group: "Lists", summary: "Adds a field to the key that identifies the items of the list. " +
			"Repeat the marker for each field of the key.",
		details: "The list requires listType=map, and the field must be required or have a default.",
		example: "+listMapKey=name",
		Rules:   Rules{About: lists},
	},
	"k8s:listType": {
		group: "Lists", summary: "Has the same effect as listType.",
		example: "+k8s:listType=map",
		Rules:   Rules{About: lists, Single: true, Values: []string{"atomic", "map", "set"}},
	},
	"k8s:listMapKey": {
		group: "Lists", summary: "Has the same effect as listMapKey.",
		example: "+k8s:listMapKey=name",
		Rules:   Rules{About: lists},
	},
	"mapType": {
		group: "Objects", summary: "Sets whether server-side apply merges the map by key (granular, the default) or " +
			"replaces it (atomic).",
		example: "+mapType=atomic",
		Rules:   Rules{About: objects, Single: true, Values: []string{"atomic", "granular"}},
	},
	"structType": {
		group: "Objects", summary: "Sets whether server-side apply merges the object by field (granular, the default) or " +
			"replaces it (atomic).",
		example: "+structType=atomic",
		Rules:   Rules{About: objects, Single: true, Values: []string{"atomic", "granular"}},
	},
	// Valid values.
	"kubebuilder:validation:Maximum": {
		group: "Numbers", summary: "Rejects numbers above the value.", example: "+kubebuilder:validation:Maximum=100",
		Rules: Rules{About: numbers, Limit: Limit{OfValue, true}, Otherwise: map[Kind]string{KindString: "MaxLength",
			KindArray: "MaxItems", KindMap: "MaxProperties"}, Single: true},
	},
	"kubebuilder:validation:Minimum": {
		group: "Numbers", summary: "Rejects numbers below the value.", example: "+kubebuilder:validation:Minimum=1",
		Rules: Rules{About: numbers, Limit: Limit{OfValue, false}, Otherwise: map[Kind]string{KindString: "MinLength",
			KindArray: "MinItems", KindMap: "MinProperties"}, Single: true},
	},
	"k8s:maximum": {
		group: "Numbers", summary: "Rejects numbers above the value, like kubebuilder:validation:Maximum.",
		example: "+k8s:maximum=100",
		Rules:   Rules{About: numbers, Limit: Limit{OfValue, true}},
	},
	"k8s:minimum": {
		group: "Numbers", summary: "Rejects numbers below the value, like kubebuilder:validation:Minimum.",
		example: "+k8s:minimum=1",
		Rules:   Rules{About: numbers, Limit: Limit{OfValue, false}},
	},
	"kubebuilder:validation:ExclusiveMaximum": {
		group: "Numbers", summary: "Also rejects numbers that are equal to Maximum.",
		example: "+kubebuilder:validation:ExclusiveMaximum=true",
		Rules:   Rules{About: numbers, Single: true},
	},
	"kubebuilder:validation:ExclusiveMinimum": {
		group: "Numbers", summary: "Also rejects numbers that are equal to Minimum.",
		example: "+kubebuilder:validation:ExclusiveMinimum=true",
		Rules:   Rules{About: numbers, Single: true},
	},
	"kubebuilder:validation:MultipleOf": {
		group: "Numbers", summary: "Rejects numbers that are not a multiple of the value.",
		example: "+kubebuilder:validation:MultipleOf=5",
		Rules:   Rules{About: numbers, Single: true},
	},
	"kubebuilder:validation:MaxLength": {
		group: "Strings", summary: "Rejects strings that are longer than the value.",
		details: "The limit also reduces the estimated cost of CEL rules.",
		example: "+kubebuilder:validation:MaxLength=253",
		Rules: Rules{About: strs, Limit: Limit{OfLength, true}, Otherwise: map[Kind]string{KindInteger: "Maximum",
			KindNumber: "Maximum", KindArray: "MaxItems", KindMap: "MaxProperties"}, Single: true},
	},
	"kubebuilder:validation:MinLength": {
		group: "Strings", summary: "Rejects strings that are shorter than the value.",
		example: "+kubebuilder:validation:MinLength=1",
		Rules: Rules{About: strs, Limit: Limit{OfLength, false}, Otherwise: map[Kind]string{KindInteger: "Minimum",
			KindNumber: "Minimum", KindArray: "MinItems", KindMap: "MinProperties"}, Single: true},
	},
	"kubebuilder:validation:Pattern": {
		group: "Strings", summary: "Rejects strings that the regular expression does not match.",
		details: "Use ^ and $ to match the whole string, and quote the expression with backticks.",
		example: "+kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`",
		Rules:   Rules{About: strs, Otherwise: map[Kind]string{KindArray: "items:Pattern"}, Single: true},
	},
	"kubebuilder:validation:Format": {
		group:   "Strings",
		summary: "Sets the format of a string or number, such as date-time, uri, ipv4, cidr, uuid or int32.",
		details: "The API server checks known string formats and ignores others.",
		example: "+kubebuilder:validation:Format=date-time",
		Rules:   Rules{About: anything, Single: true},
	},
	"kubebuilder:validation:MaxItems": {
		group: "Lists", summary: "Rejects lists with more items than the value.",
		details: "The limit also reduces the estimated cost of CEL rules.",
		example: "+kubebuilder:validation:MaxItems=16",
		Rules: Rules{About: lists, Limit: Limit{OfItems, true}, Otherwise: map[Kind]string{KindString: "MaxLength",
			KindMap: "MaxProperties"}, Single: true},
	},
	"kubebuilder:validation:MinItems": {
		group: "Lists", summary: "Rejects lists with fewer items than the value.",
		example: "+kubebuilder:validation:MinItems=1",
		Rules: Rules{About: lists, Limit: Limit{OfItems, false}, Otherwise: map[Kind]string{KindString: "MinLength",
			KindMap: "MinProperties"}, Single: true},
	},
	"k8s:maxItems": {
		group: "Lists", summary: "Rejects lists with more items than the value, like kubebuilder:validation:MaxItems.",
		example: "+k8s:maxItems=16",
		Rules:   Rules{About: lists, Limit: Limit{OfItems, true}},
	},
	"kubebuilder:validation:UniqueItems": {
		group: "Lists", summary: "Declares that the items are unique. The API server accepts only false; use listType=set.",
		example: "+kubebuilder:validation:UniqueItems=false", instead: "listType",
		Rules: Rules{About: lists, Single: true},
	},
	"kubebuilder:validation:MaxProperties": {
		group: "Objects", summary: "Rejects maps with more keys than the value.",
		example: "+kubebuilder:validation:MaxProperties=8",
		Rules: Rules{About: objects, Limit: Limit{OfProperties, true}, Otherwise: map[Kind]string{KindString: "MaxLength",
			KindArray: "MaxItems"}, Single: true},
	},
	"kubebuilder:validation:MinProperties": {
		group: "Objects", summary: "Rejects maps with fewer keys, or objects with fewer fields, than the value.",
		example: "+kubebuilder:validation:MinProperties=1",
		Rules: Rules{About: objects, Limit: Limit{OfProperties, false}, Otherwise: map[Kind]string{KindString: "MinLength",
			KindArray: "MinItems"}, Single: true},
	},
	"kubebuilder:validation:ExactlyOneOf": {
		group: "Objects", summary: "Rejects objects unless exactly one of the fields is set.",
		details: "Use the JSON names of the fields, which must be optional. Repeat the marker for each set of fields.",
		example: "+kubebuilder:validation:ExactlyOneOf=configMap;secret",
		Rules:   Rules{About: anything},
	},
	"kubebuilder:validation:AtMostOneOf": {
		group: "Objects", summary: "Rejects objects in which more than one of the fields is set.",
		example: "+kubebuilder:validation:AtMostOneOf=configMap;secret",
		Rules:   Rules{About: anything},
	},
	"kubebuilder:validation:AtLeastOneOf": {
		group: "Objects", summary: "Rejects objects in which none of the fields is set.",
		example: "+kubebuilder:validation:AtLeastOneOf=configMap;secret",
		Rules:   Rules{About: anything},
	},
	"kubebuilder:pruning:PreserveUnknownFields": {
		group: "Objects", summary: "Keeps fields that the schema does not define; without the marker, the API server " +
			"removes them.",
		example: "+kubebuilder:pruning:PreserveUnknownFields",
		Rules:   Rules{About: anything},
	},
	"kubebuilder:validation:XPreserveUnknownFields": {
		group: "Objects", summary: "Keeps fields that the schema does not define; without the marker, the API server " +
			"removes them.",
		example: "+kubebuilder:validation:XPreserveUnknownFields",
		Rules:   Rules{About: anything},
	},
	"kubebuilder:validation:EmbeddedResource": {
		group: "Objects", summary: "Declares that the value is a complete Kubernetes object, with apiVersion, kind and " +
			"metadata.",
		example: "+kubebuilder:validation:EmbeddedResource",
		Rules:   Rules{About: anything},
	},
	"kubebuilder:validation:XEmbeddedResource": {
		group: "Objects", summary: "Declares that the value is a complete Kubernetes object, with apiVersion, kind and " +
			"metadata.",
		example: "+kubebuilder:validation:XEmbeddedResource",
		Rules:   Rules{About: anything},
	},
	"kubebuilder:validation:Enum": {
		group: "Any type", summary: "Rejects values that are not in the list.",
		details: "Quote strings that look like numbers or booleans.",
		example: "+kubebuilder:validation:Enum=Allow;Forbid;Replace",
		Rules:   Rules{About: anything, Single: true},
	},
	"k8s:enum": {
		group: "Any type", summary: "Rejects values that are not constants of the type.",
		example: "+k8s:enum",
		Rules:   Rules{About: anything},
	},
	"kubebuilder:validation:XValidation": {
		group: "Any type", summary: "Rejects values for which a CEL expression is false. The marker can be repeated.",
		details: "In a rule, self is the value and oldSelf is the previous value; a rule that refers to oldSelf applies " +
			"only to updates.",
		example: `+kubebuilder:validation:XValidation:rule="self.minReplicas <= self.maxReplicas",message="minReplicas is above maxReplicas"`,
		arguments: map[string]argument{
			"rule":              {summary: "The CEL expression."},
			"message":           {summary: "The error message.", fallback: "the rule"},
			"messageExpression": {summary: "A CEL expression that returns the message; it takes precedence over message."},
			"reason": {summary: "The reason of the error: FieldValueInvalid, FieldValueForbidden, FieldValueRequired or " +
				"FieldValueDuplicate.", fallback: "FieldValueInvalid",
				values: []string{"FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"}},
			"fieldPath": {summary: "The field that the error refers to, relative to the value, such as .spec.replicas.",
				fallback: "the value itself"},
			"optionalOldSelf": {summary: "Also checks a rule that refers to oldSelf on creation; oldSelf is then a CEL " +
				"optional.",
				fallback: "false"},
		},
		Rules: Rules{About: anything},
	},
	"kubebuilder:validation:Type": {
		group: "Any type", summary: "Sets the JSON type: string, integer, number, boolean, array or object.",
		details: "Go types that define their own JSON encoding need the marker.",
		example: "+kubebuilder:validation:Type=string",
		Rules: Rules{About: anything, Single: true, Values: []string{"", "Any", "array", "boolean", "integer", "number",
			"object", "string"}},
	},
	"kubebuilder:validation:XIntOrString": {
		group: "Any type", summary: "Accepts an integer or a string, such as a port or a percentage.",
		example: "+kubebuilder:validation:XIntOrString",
		Rules:   Rules{About: anything},
	},
	"kubebuilder:validation:Schemaless": {
		group: "Any type", summary: "Excludes the Go type of the field from the schema. Other markers still apply.",
		details: "Combine it with pruning:PreserveUnknownFields for recursive or unsupported types.",
		example: "+kubebuilder:validation:Schemaless",
	},
	"kubebuilder:title": {
		group: "Any type", summary: "Adds a title to the schema.",
		example: `+kubebuilder:title="Time zone"`,
		Rules:   Rules{About: anything, Single: true},
	},
	"kubebuilder:externalDocs": {
		group: "Any type", summary: "Adds a link to documentation to the schema.",
		example: "+kubebuilder:externalDocs:url=\"https://example.com/docs\",description=\"The guide\"",
		arguments: map[string]argument{
			"url":         {summary: "The address of the documentation."},
			"description": {summary: "A description of the documentation."},
		},
		Rules: Rules{About: anything},
	},
	// The whole project.
	"kubebuilder:rbac": {
		group: "RBAC", summary: "Adds permissions to the manager's role.",
		details: "The role combines the markers of the whole project. Set resources or urls.",
		example: "+kubebuilder:rbac:groups=apps,resources=deployments;deployments/status,verbs=get;list;watch",
		arguments: map[string]argument{
			"groups":        {summary: `The API groups. Write "" or core for the group of pods and services.`},
			"resources":     {summary: "The plural names of resources, and subresources such as deployments/status."},
			"resourceNames": {summary: "The names of objects.", fallback: "all objects"},
			"verbs":         {summary: "get, list, watch, create, update, patch, delete, deletecollection, or * for all."},
			"urls":          {summary: "Paths of the API server that are not resources, such as /metrics."},
			"namespace": {summary: "The namespace of the permissions; kctrl then generates a Role instead of a ClusterRole.",
				fallback: "the whole cluster"},
			"roleName": {summary: "The role that gets the permissions.", fallback: "the manager's"},
		},
		Rules: Rules{Anywhere: true},
	},
	"kubebuilder:webhook": {
		group: "Webhooks", summary: "Registers a webhook with the API server.",
		details: "Set path or url.",
		example: "+kubebuilder:webhook:path=/validate-batch-example-com-v1-cronjob,mutating=false,failurePolicy=fail,sideEffects=None," +
			"groups=batch.example.com,resources=cronjobs,verbs=create;update,versions=v1,name=vcronjob.example.com,admissionReviewVersions=v1",
		arguments: map[string]argument{
			"mutating": {summary: "true for a webhook that changes objects, false for one that validates them."},
			"failurePolicy": {summary: "fail or ignore: whether the API server rejects or accepts requests while " +
				"the webhook is unreachable."},
			"groups":                  {summary: "The API groups of the objects."},
			"resources":               {summary: "The plural names of the resources."},
			"verbs":                   {summary: "create, update, delete, connect, or * for all."},
			"versions":                {summary: "The API versions of the objects."},
			"name":                    {summary: "The name of the webhook, with at least two dots."},
			"admissionReviewVersions": {summary: "The supported versions of AdmissionReview, in order of preference."},
			"path":                    {summary: "The path on the webhook service."},
			"url":                     {summary: "The full address of a webhook outside of the cluster."},
			"matchPolicy": {summary: "Exact, or Equivalent to also match requests for other versions of the resource.",
				fallback: "Equivalent"},
			"sideEffects":    {summary: "None, or NoneOnDryRun if the webhook handles dry runs."},
			"timeoutSeconds": {summary: "The timeout of a call, from 1 to 30.", fallback: "10"},
			"reinvocationPolicy": {summary: "Never, or IfNeeded to call the webhook again after a later webhook changed the " +
				"object.", fallback: "Never"},
			"serviceName":      {summary: "The service of the webhook.", fallback: "webhook-service"},
			"serviceNamespace": {summary: "The namespace of the service.", fallback: "system"},
			"servicePort":      {summary: "The port of the service.", fallback: "443"},
			"webhookVersions":  {summary: "The versions of the configuration; only v1 exists.", fallback: "v1"},
			"patch":            {summary: "A JSON merge patch for the generated webhook, for fields that have no argument."},
		},
		Rules: Rules{Anywhere: true},
	},
	"kubebuilder:webhookconfiguration": {
		group: "Webhooks", summary: "Sets the name of the object that registers the webhooks of the project.",
		example: "+kubebuilder:webhookconfiguration:mutating=true,name=example-mutating-webhooks",
		arguments: map[string]argument{
			"mutating": {summary: "true for webhooks that change objects, false for webhooks that validate them."},
			"name": {summary: "The name of the object.",
				fallback: "mutating-webhook-configuration or validating-webhook-configuration"},
		},
		Rules: Rules{Anywhere: true},
	},
}
