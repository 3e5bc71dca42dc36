package markers

import (
	"reflect"
	"strings"

	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/markers"
)

// row is all that is known of a marker besides its definition: what to say of it, and what lint needs to know to check it.
// Markers for the items of lists have the row of the marker that they repeat.
type row struct {
	group     string
	summary   string
	details   string
	example   string
	instead   string // the marker to use instead of one that is out of date
	arguments map[string]argument

	Rules
}

// argument is what is known of an argument.
type argument struct {
	summary  string
	fallback string   // what holds without it
	values   []string // those that can be right; nil for any
	path     bool     // a path in an object, such as .spec.replicas
}

// Rules are what values, fields and other markers have to be like where a marker stands.
type Rules struct {
	// About are the kinds of values that the marker is about. None stand for all.
	About []Kind
	// Otherwise are the last parts of the names of markers to use for another kind.
	Otherwise map[Kind]string
	// Limit is what the number of the marker limits.
	Limit Limit
	// Single reports whether only the last counts of several at one type or field.
	Single bool
	// Presence is whether the marker says that a field may, or has to, be there.
	Presence Presence
	// Anywhere reports whether the marker is about the whole project, so that it does not matter what it stands on.
	Anywhere bool
	// Copies reports whether a marker with a value asks for deep copies. Nil stands for one that has nothing to do with them.
	Copies func(value any) bool
	// Values are those that the marker can have. Nil stands for all.
	Values []string
}

// Kind is what a value is in JSON. The zero value stands for one that is not known.
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
	anything = []Kind{} // and not nil, which stands for who forgot to say
	numbers  = []Kind{KindInteger, KindNumber}
	strs     = []Kind{KindString}
	lists    = []Kind{KindArray}
	objects  = []Kind{KindMap, KindStruct}
)

// Limit is what a number limits: from above, or from below.
type Limit struct {
	Of    Measure
	Upper bool
}

// Measure is what of a value is compared with a limit. The zero value stands for nothing.
type Measure string

// The measures.
const (
	OfValue      Measure = "value"
	OfLength     Measure = "length"
	OfItems      Measure = "items"
	OfProperties Measure = "properties"
)

// Presence is whether a field has to be there.
type Presence string

// What markers say of the presence of a field.
const (
	Optional Presence = "optional"
	Required Presence = "required"
)

// asksLegacy reports whether the value of k8s:deepcopy-gen asks for copies.
func asksLegacy(value any) bool {
	raw, _ := value.(markers.RawArguments)
	return strings.HasPrefix(string(raw), "package") || string(raw) == "true"
}

// RulesOf returns the rules about the marker with a name. One that is not known has none.
func RulesOf(name string) Rules {
	if rest, ok := strings.CutPrefix(name, crdmarkers.ValidationItemsPrefix); ok {
		name = "kubebuilder:validation:" + rest
	}
	return table[name].Rules
}

// Arguments returns the values that the arguments of the marker can have, by name, and the names of those that are paths in
// an object.
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

// Argument returns the text that an argument has; that of the marker itself has no name. It reports false for one that is
// optional and left out, or that is no text.
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

// table has a row for every marker, by what they are about.
var table = map[string]row{
	// API packages and the code that is generated for them.
	"groupName": {
		group: "API packages", summary: "Names the API group of the kinds in the package.",
		details: "A package with this marker is a version of an API; its kinds become CRDs. Write it above the package clause.",
		example: "+groupName=batch.example.com",
	},
	"versionName": {
		group: "API packages", summary: "Names the API version of the package where its Go name is another.",
		example: "+versionName=v1beta1",
	},
	"kubebuilder:skip": {
		group: "API packages", summary: "Keeps the package from being taken for a version of an API.",
		example: "+kubebuilder:skip",
	},
	"kubebuilder:object:generate": {
		group: "Deep copies", summary: "Asks for deep copy methods: on a package for all its types, on a type for that one.",
		details: "On a type, false leaves it out of those that the package asks for.",
		example: "+kubebuilder:object:generate=true",
		Rules:   Rules{Copies: func(value any) bool { return value != false }},
	},
	"kubebuilder:object:root": {
		group: "Deep copies", summary: "Says that the type is a kind or its list, and needs a DeepCopyObject method to be a runtime.Object.",
		example: "+kubebuilder:object:root=true",
		Rules:   Rules{Copies: func(value any) bool { return value != false }},
	},
	"k8s:deepcopy-gen": {
		group: "Deep copies", summary: "Asks for deep copies as Kubernetes' own generator would be asked.",
		details: "On a package the value is package, on a type true or false.",
		example: "+k8s:deepcopy-gen=package", instead: "kubebuilder:object:generate",
		Rules: Rules{Copies: asksLegacy},
	},
	"k8s:deepcopy-gen:interfaces": {
		group: "Deep copies", summary: "Asks for a DeepCopyObject method as Kubernetes' own generator would be asked.",
		example: "+k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object", instead: "kubebuilder:object:root",
		Rules: Rules{Copies: func(any) bool { return true }},
	},
	"kubebuilder:ac:generate": {
		group: "Apply configurations", summary: "Asks for apply configurations, the types for server-side apply with only the fields that are set.",
		details: "On a package it stands for all kinds of it; on a type, false leaves that one out.",
		example: "+kubebuilder:ac:generate=true",
	},
	"kubebuilder:ac:output:package": {
		group: "Apply configurations", summary: "Says in which folder below the package the apply configurations are written.",
		example: `+kubebuilder:ac:output:package="applyconfiguration"`,
	},
	// How the API server serves a kind.
	"kubebuilder:resource": {
		group: "Kinds", summary: "Says what the kind is called in URLs and on the command line, and whether it lives in namespaces.",
		example: "+kubebuilder:resource:scope=Cluster,shortName=cj;crj,categories=all",
		arguments: map[string]argument{
			"path":       {summary: "The name in URLs, in the plural.", fallback: "the kind in lower case, in the plural"},
			"shortName":  {summary: "Names for those who type it a lot."},
			"categories": {summary: "Groups of kinds to list together; kubectl get all shows those in all."},
			"singular":   {summary: "The name for one object on the command line.", fallback: "the kind in lower case"},
			"scope":      {summary: "Namespaced or Cluster.", fallback: "Namespaced", values: []string{"Cluster", "Namespaced"}},
		},
	},
	"kubebuilder:subresource:status": {
		group: "Kinds", summary: "Serves the status apart, so that who writes the spec cannot write the status and the other way round.",
		example: "+kubebuilder:subresource:status",
	},
	"kubebuilder:subresource:scale": {
		group: "Kinds", summary: "Serves the number of replicas apart, for kubectl scale and autoscalers.",
		example: "+kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector",
		arguments: map[string]argument{
			"specpath":     {summary: "The path of the number that is wanted.", path: true},
			"statuspath":   {summary: "The path of the number that there is.", path: true},
			"selectorpath": {summary: "The path of the label selector of the pods, written as a string. HorizontalPodAutoscaler needs it.", path: true},
		},
		Rules: Rules{Single: true},
	},
	"kubebuilder:printcolumn": {
		group: "Kinds", summary: "Adds a column to what kubectl get prints.",
		details: "As soon as a kind has one, the column AGE is no longer there by itself.",
		example: "+kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp",
		arguments: map[string]argument{
			"name":        {summary: "The title of the column."},
			"type":        {summary: "boolean, date, integer, number or string.", values: []string{"boolean", "date", "integer", "number", "string"}},
			"JSONPath":    {summary: "Where in the object the value is; it begins with a dot.", path: true},
			"description": {summary: "What the column shows."},
			"format":      {summary: "How to print the value, such as int32 or date-time.", values: []string{"byte", "date", "date-time", "double", "float", "int32", "int64", "password"}},
			"priority":    {summary: "0 to show the column always, more to show it only with -o wide.", fallback: "0"},
		},
	},
	"kubebuilder:selectablefield": {
		group: "Kinds", summary: "Lets clients list objects by the value of a field.",
		example: "+kubebuilder:selectablefield:JSONPath=.spec.color",
		arguments: map[string]argument{
			"JSONPath": {summary: "Where in the object the field is: a string, an integer or a boolean outside of lists.", path: true},
		},
	},
	ValidExample: {
		group: "Kinds", summary: "Has an object of the kind, in JSON or YAML, that API servers accept: kctrl verify checks it.",
		details: "apiVersion, kind and a name are added.",
		example: "+kctrl:example:valid=`{spec: {schedule: '@daily'}}`",
	},
	InvalidExample: {
		group: "Kinds", summary: "Has an object of the kind that API servers refuse: kctrl verify checks that they do.",
		example: "+kctrl:example:invalid:object=`{spec: {schedule: ''}}`,message=`should be at least 1 chars long`",
		arguments: map[string]argument{
			"object":  {summary: "The object, in JSON or YAML, without apiVersion, kind and metadata."},
			"message": {summary: "Words of the message with which it is refused.", fallback: "any"},
		},
	},
	"kubebuilder:storageversion": {
		group: "Kinds", summary: "Says that objects are stored in this version. Exactly one version of a kind has it.",
		example: "+kubebuilder:storageversion",
	},
	"kubebuilder:unservedversion": {
		group: "Kinds", summary: "Keeps the version in the CRD without serving it.",
		example: "+kubebuilder:unservedversion",
	},
	"kubebuilder:skipversion": {
		group: "Kinds", summary: "Leaves the version out of the CRD.",
		example: "+kubebuilder:skipversion",
	},
	"kubebuilder:deprecatedversion": {
		group: "Kinds", summary: "Warns everybody who uses the version.",
		example: `+kubebuilder:deprecatedversion:warning="example.com/v1beta1 CronJob is deprecated; use v1"`,
		arguments: map[string]argument{
			"warning": {summary: "The text of the warning.", fallback: "a text that names the version"},
		},
		Rules: Rules{Single: true},
	},
	"kubebuilder:metadata": {
		group: "Kinds", summary: "Puts annotations and labels on the CRD itself.",
		example: `+kubebuilder:metadata:annotations="example.com/owner=team-a",labels="example.com/tier=1"`,
		arguments: map[string]argument{
			"annotations": {summary: "Annotations, each as key=value."},
			"labels":      {summary: "Labels, each as key=value."},
		},
	},
	// Whether a field has to be there, what it holds if it is not, and how lists and maps are merged.
	"optional": {
		group: "Presence and defaults", summary: "Says that the field may be left out.",
		details: "Fields whose JSON tag has omitempty or omitzero are optional anyway.",
		example: "+optional",
		Rules:   Rules{Presence: Optional},
	},
	"required": {
		group: "Presence and defaults", summary: "Says that the field has to be there.",
		example: "+required",
		Rules:   Rules{Presence: Required},
	},
	"k8s:optional": {
		group: "Presence and defaults", summary: "Says that the field may be left out, in the words of Kubernetes' own validation.",
		example: "+k8s:optional",
		Rules:   Rules{Presence: Optional},
	},
	"k8s:required": {
		group: "Presence and defaults", summary: "Says that the field has to be there and may not be empty: a string, list or map has at least one character, item or key.",
		example: "+k8s:required",
		Rules:   Rules{About: anything, Presence: Required},
	},
	"kubebuilder:validation:Optional": {
		group: "Presence and defaults", summary: "Says that the field, or on a package every field without a marker of its own, may be left out.",
		example: "+kubebuilder:validation:Optional", instead: "optional",
		Rules: Rules{Presence: Optional},
	},
	"kubebuilder:validation:Required": {
		group: "Presence and defaults", summary: "Says that the field has to be there. On a package it changes nothing.",
		example: "+kubebuilder:validation:Required", instead: "required",
		Rules: Rules{Presence: Required},
	},
	"nullable": {
		group: "Presence and defaults", summary: "Lets clients write null, which the API server keeps instead of taking it for a field that is not set.",
		example: "+nullable",
		Rules:   Rules{About: anything},
	},
	"kubebuilder:default": {
		group: "Presence and defaults", summary: "Sets the field when a client leaves it out.",
		details: "Strings go in quotes, lists and objects in braces: {a,b} and {key: value}. The value has to meet the other markers of the field.",
		example: `+kubebuilder:default="Always"`,
		Rules:   Rules{About: anything, Single: true},
	},
	"default": {
		group: "Presence and defaults", summary: "Sets the field when a client leaves it out, with a value in JSON.",
		details: "Where kubebuilder:default stands too, that one counts. A value such as ref(...) is left to other tools.",
		example: `+default="Always"`,
		arguments: map[string]argument{
			"value": {summary: "The value, in JSON, right behind the name of the marker."},
		},
		Rules: Rules{About: anything, Single: true},
	},
	"kubebuilder:example": {
		group: "Presence and defaults", summary: "Shows in the schema what a value may look like.",
		example: `+kubebuilder:example="10.0.0.1"`,
		Rules:   Rules{About: anything, Single: true},
	},
	"k8s:immutable": {
		group: "Presence and defaults", summary: "Refuses changes of the field once it is set.",
		example: "+k8s:immutable",
		Rules:   Rules{About: anything},
	},
	"listType": {
		group: "Lists", summary: "Says how lists are merged when several managers apply to the same object.",
		details: "atomic replaces the list as a whole. set merges items, which have to differ. map merges the items with equal keys; see listMapKey.",
		example: "+listType=map",
		Rules:   Rules{About: lists, Single: true, Values: []string{"atomic", "map", "set"}},
	},
	"listMapKey": {
		group: "Lists", summary: "Names a field of the items of a list by which they are told apart. A list has one for each field of its key.",
		details: "The list needs listType=map, and the field has to be required or have a default.",
		example: "+listMapKey=name",
		Rules:   Rules{About: lists},
	},
	"k8s:listType": {
		group: "Lists", summary: "Does what listType does, in the words of Kubernetes' own validation.",
		example: "+k8s:listType=map",
		Rules:   Rules{About: lists, Single: true, Values: []string{"atomic", "map", "set"}},
	},
	"k8s:listMapKey": {
		group: "Lists", summary: "Does what listMapKey does, in the words of Kubernetes' own validation.",
		example: "+k8s:listMapKey=name",
		Rules:   Rules{About: lists},
	},
	"mapType": {
		group: "Objects", summary: "Says whether a map is merged by key (granular, as without the marker) or replaced as a whole (atomic).",
		example: "+mapType=atomic",
		Rules:   Rules{About: objects, Single: true, Values: []string{"atomic", "granular"}},
	},
	"structType": {
		group: "Objects", summary: "Says whether an object is merged by field (granular, as without the marker) or replaced as a whole (atomic).",
		example: "+structType=atomic",
		Rules:   Rules{About: objects, Single: true, Values: []string{"atomic", "granular"}},
	},
	// Which values are valid.
	"kubebuilder:validation:Maximum": {
		group: "Numbers", summary: "Refuses numbers above the value.", example: "+kubebuilder:validation:Maximum=100",
		Rules: Rules{About: numbers, Limit: Limit{OfValue, true}, Otherwise: map[Kind]string{KindString: "MaxLength", KindArray: "MaxItems", KindMap: "MaxProperties"}, Single: true},
	},
	"kubebuilder:validation:Minimum": {
		group: "Numbers", summary: "Refuses numbers below the value.", example: "+kubebuilder:validation:Minimum=1",
		Rules: Rules{About: numbers, Limit: Limit{OfValue, false}, Otherwise: map[Kind]string{KindString: "MinLength", KindArray: "MinItems", KindMap: "MinProperties"}, Single: true},
	},
	"k8s:maximum": {
		group: "Numbers", summary: "Refuses numbers above the value, in the words of Kubernetes' own validation.", example: "+k8s:maximum=100",
		Rules: Rules{About: numbers, Limit: Limit{OfValue, true}},
	},
	"k8s:minimum": {
		group: "Numbers", summary: "Refuses numbers below the value, in the words of Kubernetes' own validation.", example: "+k8s:minimum=1",
		Rules: Rules{About: numbers, Limit: Limit{OfValue, false}},
	},
	"kubebuilder:validation:ExclusiveMaximum": {
		group: "Numbers", summary: "Refuses the value of Maximum itself, too.", example: "+kubebuilder:validation:ExclusiveMaximum=true",
		Rules: Rules{About: numbers, Single: true},
	},
	"kubebuilder:validation:ExclusiveMinimum": {
		group: "Numbers", summary: "Refuses the value of Minimum itself, too.", example: "+kubebuilder:validation:ExclusiveMinimum=true",
		Rules: Rules{About: numbers, Single: true},
	},
	"kubebuilder:validation:MultipleOf": {
		group: "Numbers", summary: "Refuses numbers that are no multiple of the value.", example: "+kubebuilder:validation:MultipleOf=5",
		Rules: Rules{About: numbers, Single: true},
	},
	"kubebuilder:validation:MaxLength": {
		group: "Strings", summary: "Refuses strings of more characters.",
		details: "A bound also makes the cost of CEL rules on the string known.",
		example: "+kubebuilder:validation:MaxLength=253",
		Rules:   Rules{About: strs, Limit: Limit{OfLength, true}, Otherwise: map[Kind]string{KindInteger: "Maximum", KindNumber: "Maximum", KindArray: "MaxItems", KindMap: "MaxProperties"}, Single: true},
	},
	"kubebuilder:validation:MinLength": {
		group: "Strings", summary: "Refuses strings of fewer characters.", example: "+kubebuilder:validation:MinLength=1",
		Rules: Rules{About: strs, Limit: Limit{OfLength, false}, Otherwise: map[Kind]string{KindInteger: "Minimum", KindNumber: "Minimum", KindArray: "MinItems", KindMap: "MinProperties"}, Single: true},
	},
	"kubebuilder:validation:Pattern": {
		group: "Strings", summary: "Refuses strings in which the regular expression matches nothing.",
		details: "Anchor the expression with ^ and $ to match the whole string. Quote it with backticks.",
		example: "+kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`",
		Rules:   Rules{About: strs, Otherwise: map[Kind]string{KindArray: "items:Pattern"}, Single: true},
	},
	"kubebuilder:validation:Format": {
		group: "Strings", summary: "Says what a string or number stands for, such as date-time, uri, ipv4, cidr, uuid or int32.",
		details: "The API server checks strings of the formats that it knows, and passes over others.",
		example: "+kubebuilder:validation:Format=date-time",
		Rules:   Rules{About: anything, Single: true},
	},
	"kubebuilder:validation:MaxItems": {
		group: "Lists", summary: "Refuses lists of more items.",
		details: "A bound also makes the cost of CEL rules on the items known.",
		example: "+kubebuilder:validation:MaxItems=16",
		Rules:   Rules{About: lists, Limit: Limit{OfItems, true}, Otherwise: map[Kind]string{KindString: "MaxLength", KindMap: "MaxProperties"}, Single: true},
	},
	"kubebuilder:validation:MinItems": {
		group: "Lists", summary: "Refuses lists of fewer items.", example: "+kubebuilder:validation:MinItems=1",
		Rules: Rules{About: lists, Limit: Limit{OfItems, false}, Otherwise: map[Kind]string{KindString: "MinLength", KindMap: "MinProperties"}, Single: true},
	},
	"k8s:maxItems": {
		group: "Lists", summary: "Refuses lists of more items, in the words of Kubernetes' own validation.", example: "+k8s:maxItems=16",
		Rules: Rules{About: lists, Limit: Limit{OfItems, true}},
	},
	"kubebuilder:validation:UniqueItems": {
		group: "Lists", summary: "Says that items differ. The API server accepts only false: use listType=set instead.",
		example: "+kubebuilder:validation:UniqueItems=false", instead: "listType",
		Rules: Rules{About: lists, Single: true},
	},
	"kubebuilder:validation:MaxProperties": {
		group: "Objects", summary: "Refuses maps of more keys.", example: "+kubebuilder:validation:MaxProperties=8",
		Rules: Rules{About: objects, Limit: Limit{OfProperties, true}, Otherwise: map[Kind]string{KindString: "MaxLength", KindArray: "MaxItems"}, Single: true},
	},
	"kubebuilder:validation:MinProperties": {
		group: "Objects", summary: "Refuses maps of fewer keys, or objects with fewer fields set.", example: "+kubebuilder:validation:MinProperties=1",
		Rules: Rules{About: objects, Limit: Limit{OfProperties, false}, Otherwise: map[Kind]string{KindString: "MinLength", KindArray: "MinItems"}, Single: true},
	},
	"kubebuilder:validation:ExactlyOneOf": {
		group: "Objects", summary: "Refuses objects in which not exactly one of the fields is set.",
		details: "Fields have their JSON names and are optional. The marker may stand several times, for different sets of fields.",
		example: "+kubebuilder:validation:ExactlyOneOf=configMap;secret",
		Rules:   Rules{About: anything},
	},
	"kubebuilder:validation:AtMostOneOf": {
		group: "Objects", summary: "Refuses objects in which more than one of the fields is set.",
		example: "+kubebuilder:validation:AtMostOneOf=configMap;secret",
		Rules:   Rules{About: anything},
	},
	"kubebuilder:validation:AtLeastOneOf": {
		group: "Objects", summary: "Refuses objects in which none of the fields is set.",
		example: "+kubebuilder:validation:AtLeastOneOf=configMap;secret",
		Rules:   Rules{About: anything},
	},
	"kubebuilder:pruning:PreserveUnknownFields": {
		group: "Objects", summary: "Keeps fields that the schema does not know, which the API server drops otherwise.",
		example: "+kubebuilder:pruning:PreserveUnknownFields",
		Rules:   Rules{About: anything},
	},
	"kubebuilder:validation:XPreserveUnknownFields": {
		group: "Objects", summary: "Keeps fields that the schema does not know, which the API server drops otherwise.",
		example: "+kubebuilder:validation:XPreserveUnknownFields",
		Rules:   Rules{About: anything},
	},
	"kubebuilder:validation:EmbeddedResource": {
		group: "Objects", summary: "Says that the field holds a whole object, with apiVersion, kind and metadata.",
		example: "+kubebuilder:validation:EmbeddedResource",
		Rules:   Rules{About: anything},
	},
	"kubebuilder:validation:XEmbeddedResource": {
		group: "Objects", summary: "Says that the value is a whole object, with apiVersion, kind and metadata.",
		example: "+kubebuilder:validation:XEmbeddedResource",
		Rules:   Rules{About: anything},
	},
	"kubebuilder:validation:Enum": {
		group: "Any type", summary: "Refuses all values but those listed.",
		details: "Strings that look like numbers, true or false go in quotes.",
		example: "+kubebuilder:validation:Enum=Allow;Forbid;Replace",
		Rules:   Rules{About: anything, Single: true},
	},
	"k8s:enum": {
		group: "Any type", summary: "Refuses all values but those of the constants of the type.",
		example: "+k8s:enum",
		Rules:   Rules{About: anything},
	},
	"kubebuilder:validation:XValidation": {
		group: "Any type", summary: "Refuses values for which a CEL expression is false. The marker may stand several times.",
		details: "In the expression, self is the value, and oldSelf the one that it replaces: a rule with oldSelf is checked only on updates.",
		example: `+kubebuilder:validation:XValidation:rule="self.minReplicas <= self.maxReplicas",message="minReplicas is above maxReplicas"`,
		arguments: map[string]argument{
			"rule":              {summary: "The CEL expression."},
			"message":           {summary: "What a client is told.", fallback: "the rule"},
			"messageExpression": {summary: "A CEL expression that makes the message; goes before message."},
			"reason":            {summary: "The reason in the error: FieldValueInvalid, FieldValueForbidden, FieldValueRequired or FieldValueDuplicate.", fallback: "FieldValueInvalid", values: []string{"FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"}},
			"fieldPath":         {summary: "The field that is named in the error, from the value on: .spec.replicas.", fallback: "the value itself"},
			"optionalOldSelf":   {summary: "Checks a rule with oldSelf on creation, too; oldSelf is then an optional.", fallback: "false"},
		},
		Rules: Rules{About: anything},
	},
	"kubebuilder:validation:Type": {
		group: "Any type", summary: "Gives the type in JSON where it does not follow from the Go type: string, integer, number, boolean, array or object.",
		details: "Needed for types that write their JSON themselves.",
		example: "+kubebuilder:validation:Type=string",
		Rules:   Rules{About: anything, Single: true, Values: []string{"", "Any", "array", "boolean", "integer", "number", "object", "string"}},
	},
	"kubebuilder:validation:XIntOrString": {
		group: "Any type", summary: "Accepts an integer or a string, as for ports and percentages.",
		example: "+kubebuilder:validation:XIntOrString",
		Rules:   Rules{About: anything},
	},
	"kubebuilder:validation:Schemaless": {
		group: "Any type", summary: "Leaves the Go type of the field out of the schema. Other markers of the field still count.",
		details: "Use it with pruning:PreserveUnknownFields for recursive or unsupported types.",
		example: "+kubebuilder:validation:Schemaless",
	},
	"kubebuilder:title": {
		group: "Any type", summary: "Gives the schema a title, for programs that make forms of it.",
		example: `+kubebuilder:title="Time zone"`,
		Rules:   Rules{About: anything, Single: true},
	},
	"kubebuilder:externalDocs": {
		group: "Any type", summary: "Links to documentation from the schema.",
		example: "+kubebuilder:externalDocs:url=\"https://example.com/docs\",description=\"The guide\"",
		arguments: map[string]argument{
			"url":         {summary: "The address."},
			"description": {summary: "What is to be found there."},
		},
		Rules: Rules{About: anything},
	},
	// The whole project.
	"kubebuilder:rbac": {
		group: "RBAC", summary: "Asks for rights of the manager, which go into its role.",
		details: "All markers of the project are joined. Give resources, or urls.",
		example: "+kubebuilder:rbac:groups=apps,resources=deployments;deployments/status,verbs=get;list;watch",
		arguments: map[string]argument{
			"groups":        {summary: `The API groups. "" or core is that of pods and services.`},
			"resources":     {summary: "The resources, in the plural; subresources as deployments/status."},
			"resourceNames": {summary: "Only the objects with these names.", fallback: "all objects"},
			"verbs":         {summary: "What to do: get, list, watch, create, update, patch, delete, deletecollection, or * for all."},
			"urls":          {summary: "Paths of the API server that are no resources, such as /metrics."},
			"namespace":     {summary: "The namespace that the rights are limited to: a Role instead of a ClusterRole.", fallback: "the whole cluster"},
			"roleName":      {summary: "The role that the rights go into.", fallback: "the one of the manager"},
		},
		Rules: Rules{Anywhere: true},
	},
	"kubebuilder:webhook": {
		group: "Webhooks", summary: "Registers a webhook with the API server.",
		details: "Give path, or url.",
		example: "+kubebuilder:webhook:path=/validate-batch-example-com-v1-cronjob,mutating=false,failurePolicy=fail,sideEffects=None," +
			"groups=batch.example.com,resources=cronjobs,verbs=create;update,versions=v1,name=vcronjob.example.com,admissionReviewVersions=v1",
		arguments: map[string]argument{
			"mutating":                {summary: "Whether the webhook changes objects. One that does not validates them."},
			"failurePolicy":           {summary: "fail or ignore: what happens to requests while the webhook cannot be reached."},
			"groups":                  {summary: "The API groups of the objects."},
			"resources":               {summary: "The resources, in the plural."},
			"verbs":                   {summary: "create, update, delete, connect, or * for all."},
			"versions":                {summary: "The API versions of the objects."},
			"name":                    {summary: "The name of the webhook, with at least two dots."},
			"admissionReviewVersions": {summary: "The versions of AdmissionReview that the webhook understands, the best first."},
			"path":                    {summary: "The path on the webhook service."},
			"url":                     {summary: "The whole address, for webhooks outside of the cluster."},
			"matchPolicy":             {summary: "Exact, or Equivalent to see also requests for other versions of the resource.", fallback: "Equivalent"},
			"sideEffects":             {summary: "None, or NoneOnDryRun if the webhook looks out for dry runs itself."},
			"timeoutSeconds":          {summary: "How long to wait for an answer, from 1 to 30.", fallback: "10"},
			"reinvocationPolicy":      {summary: "IfNeeded to be called again when a later webhook changed the object, or Never.", fallback: "Never"},
			"serviceName":             {summary: "The service of the webhook.", fallback: "webhook-service"},
			"serviceNamespace":        {summary: "The namespace of the service.", fallback: "system"},
			"servicePort":             {summary: "The port of the service.", fallback: "443"},
			"webhookVersions":         {summary: "The versions of the configuration to write. There is only v1.", fallback: "v1"},
			"patch":                   {summary: "JSON that is merged into the webhook in the configuration, for fields that no argument sets."},
		},
		Rules: Rules{Anywhere: true},
	},
	"kubebuilder:webhookconfiguration": {
		group: "Webhooks", summary: "Names the object that registers the webhooks of the project.",
		example: "+kubebuilder:webhookconfiguration:mutating=true,name=example-mutating-webhooks",
		arguments: map[string]argument{
			"mutating": {summary: "Whether this is about webhooks that change objects."},
			"name":     {summary: "The name of the object.", fallback: "mutating-webhook-configuration or validating-webhook-configuration"},
		},
		Rules: Rules{Anywhere: true},
	},
}
