package markers

// validationHelp is about markers that say which values are valid.
var validationHelp = map[string]helpText{
	"kubebuilder:validation:Maximum": {
		group: "Numbers", summary: "Refuses numbers above the value.", example: "+kubebuilder:validation:Maximum=100",
	},
	"kubebuilder:validation:Minimum": {
		group: "Numbers", summary: "Refuses numbers below the value.", example: "+kubebuilder:validation:Minimum=1",
	},
	"k8s:maximum": {
		group: "Numbers", summary: "Refuses numbers above the value, in the words of Kubernetes' own validation.", example: "+k8s:maximum=100",
	},
	"k8s:minimum": {
		group: "Numbers", summary: "Refuses numbers below the value, in the words of Kubernetes' own validation.", example: "+k8s:minimum=1",
	},
	"kubebuilder:validation:ExclusiveMaximum": {
		group: "Numbers", summary: "Refuses the value of Maximum itself, too.", example: "+kubebuilder:validation:ExclusiveMaximum=true",
	},
	"kubebuilder:validation:ExclusiveMinimum": {
		group: "Numbers", summary: "Refuses the value of Minimum itself, too.", example: "+kubebuilder:validation:ExclusiveMinimum=true",
	},
	"kubebuilder:validation:MultipleOf": {
		group: "Numbers", summary: "Refuses numbers that are no multiple of the value.", example: "+kubebuilder:validation:MultipleOf=5",
	},
	"kubebuilder:validation:MaxLength": {
		group: "Strings", summary: "Refuses strings of more characters.",
		details: "A bound also makes the cost of CEL rules on the string known.",
		example: "+kubebuilder:validation:MaxLength=253",
	},
	"kubebuilder:validation:MinLength": {
		group: "Strings", summary: "Refuses strings of fewer characters.", example: "+kubebuilder:validation:MinLength=1",
	},
	"kubebuilder:validation:Pattern": {
		group: "Strings", summary: "Refuses strings in which the regular expression matches nothing.",
		details: "Anchor the expression with ^ and $ to match the whole string. Quote it with backticks.",
		example: "+kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`",
	},
	"kubebuilder:validation:Format": {
		group: "Strings", summary: "Says what a string or number stands for, such as date-time, uri, ipv4, cidr, uuid or int32.",
		details: "The API server checks strings of the formats that it knows, and passes over others.",
		example: "+kubebuilder:validation:Format=date-time",
	},
	"kubebuilder:validation:MaxItems": {
		group: "Lists", summary: "Refuses lists of more items.",
		details: "A bound also makes the cost of CEL rules on the items known.",
		example: "+kubebuilder:validation:MaxItems=16",
	},
	"kubebuilder:validation:MinItems": {
		group: "Lists", summary: "Refuses lists of fewer items.", example: "+kubebuilder:validation:MinItems=1",
	},
	"k8s:maxItems": {
		group: "Lists", summary: "Refuses lists of more items, in the words of Kubernetes' own validation.", example: "+k8s:maxItems=16",
	},
	"kubebuilder:validation:UniqueItems": {
		group: "Lists", summary: "Says that items differ. The API server accepts only false: use listType=set instead.",
		example: "+kubebuilder:validation:UniqueItems=false", instead: "listType",
	},
	"kubebuilder:validation:MaxProperties": {
		group: "Objects", summary: "Refuses maps of more keys.", example: "+kubebuilder:validation:MaxProperties=8",
	},
	"kubebuilder:validation:MinProperties": {
		group: "Objects", summary: "Refuses maps of fewer keys, or objects with fewer fields set.", example: "+kubebuilder:validation:MinProperties=1",
	},
	"kubebuilder:validation:ExactlyOneOf": {
		group: "Objects", summary: "Refuses objects in which not exactly one of the fields is set.",
		details: "Fields have their JSON names and are optional. The marker may stand several times, for different sets of fields.",
		example: "+kubebuilder:validation:ExactlyOneOf=configMap;secret",
	},
	"kubebuilder:validation:AtMostOneOf": {
		group: "Objects", summary: "Refuses objects in which more than one of the fields is set.",
		example: "+kubebuilder:validation:AtMostOneOf=configMap;secret",
	},
	"kubebuilder:validation:AtLeastOneOf": {
		group: "Objects", summary: "Refuses objects in which none of the fields is set.",
		example: "+kubebuilder:validation:AtLeastOneOf=configMap;secret",
	},
	"kubebuilder:pruning:PreserveUnknownFields": {
		group: "Objects", summary: "Keeps fields that the schema does not know, which the API server drops otherwise.",
		example: "+kubebuilder:pruning:PreserveUnknownFields",
	},
	"kubebuilder:validation:XPreserveUnknownFields": {
		group: "Objects", summary: "Keeps fields that the schema does not know, which the API server drops otherwise.",
		example: "+kubebuilder:validation:XPreserveUnknownFields",
	},
	"kubebuilder:validation:EmbeddedResource": {
		group: "Objects", summary: "Says that the field holds a whole object, with apiVersion, kind and metadata.",
		example: "+kubebuilder:validation:EmbeddedResource",
	},
	"kubebuilder:validation:XEmbeddedResource": {
		group: "Objects", summary: "Says that the value is a whole object, with apiVersion, kind and metadata.",
		example: "+kubebuilder:validation:XEmbeddedResource",
	},
	"kubebuilder:validation:Enum": {
		group: "Any type", summary: "Refuses all values but those listed.",
		details: "Strings that look like numbers, true or false go in quotes.",
		example: "+kubebuilder:validation:Enum=Allow;Forbid;Replace",
	},
	"k8s:enum": {
		group: "Any type", summary: "Refuses all values but those of the constants of the type.",
		example: "+k8s:enum",
	},
	"kubebuilder:validation:XValidation": {
		group: "Any type", summary: "Refuses values for which a CEL expression is false. The marker may stand several times.",
		details: "In the expression, self is the value, and oldSelf the one that it replaces: a rule with oldSelf is checked only on updates.",
		example: `+kubebuilder:validation:XValidation:rule="self.minReplicas <= self.maxReplicas",message="minReplicas is above maxReplicas"`,
		arguments: map[string]argumentText{
			"rule":              {"The CEL expression.", ""},
			"message":           {"What a client is told.", "the rule"},
			"messageExpression": {"A CEL expression that makes the message; goes before message.", ""},
			"reason":            {"The reason in the error: FieldValueInvalid, FieldValueForbidden, FieldValueRequired or FieldValueDuplicate.", "FieldValueInvalid"},
			"fieldPath":         {"The field that is named in the error, from the value on: .spec.replicas.", "the value itself"},
			"optionalOldSelf":   {"Checks a rule with oldSelf on creation, too; oldSelf is then an optional.", "false"},
		},
	},
	"kubebuilder:validation:Type": {
		group: "Any type", summary: "Gives the type in JSON where it does not follow from the Go type: string, integer, number, boolean, array or object.",
		details: "Needed for types that write their JSON themselves.",
		example: "+kubebuilder:validation:Type=string",
	},
	"kubebuilder:validation:XIntOrString": {
		group: "Any type", summary: "Accepts an integer or a string, as for ports and percentages.",
		example: "+kubebuilder:validation:XIntOrString",
	},
	"kubebuilder:validation:Schemaless": {
		group: "Any type", summary: "Leaves the Go type of the field out of the schema. Other markers of the field still count.",
		details: "Use it with pruning:PreserveUnknownFields for recursive or unsupported types.",
		example: "+kubebuilder:validation:Schemaless",
	},
	"kubebuilder:title": {
		group: "Any type", summary: "Gives the schema a title, for programs that make forms of it.",
		example: `+kubebuilder:title="Time zone"`,
	},
	"kubebuilder:externalDocs": {
		group: "Any type", summary: "Links to documentation from the schema.",
		example: "+kubebuilder:externalDocs:url=\"https://example.com/docs\",description=\"The guide\"",
		arguments: map[string]argumentText{
			"url":         {"The address.", ""},
			"description": {"What is to be found there.", ""},
		},
	},
}
