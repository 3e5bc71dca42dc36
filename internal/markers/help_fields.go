package markers

// fieldHelp is about markers that say whether a field has to be there, what it holds if it is not, and how lists and maps
// are merged.
var fieldHelp = map[string]helpText{
	"optional": {
		group: "Presence and defaults", summary: "Says that the field may be left out.",
		details: "Fields whose JSON tag has omitempty or omitzero are optional anyway.",
		example: "+optional",
	},
	"required": {
		group: "Presence and defaults", summary: "Says that the field has to be there.",
		example: "+required",
	},
	"k8s:optional": {
		group: "Presence and defaults", summary: "Says that the field may be left out, in the words of Kubernetes' own validation.",
		example: "+k8s:optional",
	},
	"k8s:required": {
		group: "Presence and defaults", summary: "Says that the field has to be there and may not be empty: a string, list or map has at least one character, item or key.",
		example: "+k8s:required",
	},
	"kubebuilder:validation:Optional": {
		group: "Presence and defaults", summary: "Says that the field, or on a package every field without a marker of its own, may be left out.",
		example: "+kubebuilder:validation:Optional", instead: "optional",
	},
	"kubebuilder:validation:Required": {
		group: "Presence and defaults", summary: "Says that the field has to be there. On a package it changes nothing.",
		example: "+kubebuilder:validation:Required", instead: "required",
	},
	"nullable": {
		group: "Presence and defaults", summary: "Lets clients write null, which the API server keeps instead of taking it for a field that is not set.",
		example: "+nullable",
	},
	"kubebuilder:default": {
		group: "Presence and defaults", summary: "Sets the field when a client leaves it out.",
		details: "Strings go in quotes, lists and objects in braces: {a,b} and {key: value}. The value has to meet the other markers of the field.",
		example: `+kubebuilder:default="Always"`,
	},
	"default": {
		group: "Presence and defaults", summary: "Sets the field when a client leaves it out, with a value in JSON.",
		details: "Where kubebuilder:default stands too, that one counts. A value such as ref(...) is left to other tools.",
		example: `+default="Always"`,
		arguments: map[string]argumentText{
			"value": {"The value, in JSON, right behind the name of the marker.", ""},
		},
	},
	"kubebuilder:example": {
		group: "Presence and defaults", summary: "Shows in the schema what a value may look like.",
		example: `+kubebuilder:example="10.0.0.1"`,
	},
	"k8s:immutable": {
		group: "Presence and defaults", summary: "Refuses changes of the field once it is set.",
		example: "+k8s:immutable",
	},
	"listType": {
		group: "Lists", summary: "Says how lists are merged when several managers apply to the same object.",
		details: "atomic replaces the list as a whole. set merges items, which have to differ. map merges the items with equal keys; see listMapKey.",
		example: "+listType=map",
	},
	"listMapKey": {
		group: "Lists", summary: "Names a field of the items of a list by which they are told apart. A list has one for each field of its key.",
		details: "The list needs listType=map, and the field has to be required or have a default.",
		example: "+listMapKey=name",
	},
	"k8s:listType": {
		group: "Lists", summary: "Does what listType does, in the words of Kubernetes' own validation.",
		example: "+k8s:listType=map",
	},
	"k8s:listMapKey": {
		group: "Lists", summary: "Does what listMapKey does, in the words of Kubernetes' own validation.",
		example: "+k8s:listMapKey=name",
	},
	"mapType": {
		group: "Objects", summary: "Says whether a map is merged by key (granular, as without the marker) or replaced as a whole (atomic).",
		example: "+mapType=atomic",
	},
	"structType": {
		group: "Objects", summary: "Says whether an object is merged by field (granular, as without the marker) or replaced as a whole (atomic).",
		example: "+structType=atomic",
	},
}
