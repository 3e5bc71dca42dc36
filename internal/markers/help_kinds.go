package markers

// packageHelp is about markers of API packages and the code that is generated for them.
var packageHelp = map[string]helpText{
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
	},
	"kubebuilder:object:root": {
		group: "Deep copies", summary: "Says that the type is a kind or its list, and needs a DeepCopyObject method to be a runtime.Object.",
		example: "+kubebuilder:object:root=true",
	},
	"k8s:deepcopy-gen": {
		group: "Deep copies", summary: "Asks for deep copies as Kubernetes' own generator would be asked.",
		details: "On a package the value is package, on a type true or false.",
		example: "+k8s:deepcopy-gen=package", instead: "kubebuilder:object:generate",
	},
	"k8s:deepcopy-gen:interfaces": {
		group: "Deep copies", summary: "Asks for a DeepCopyObject method as Kubernetes' own generator would be asked.",
		example: "+k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object", instead: "kubebuilder:object:root",
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
}

// kindHelp is about markers that say how the API server serves a kind.
var kindHelp = map[string]helpText{
	"kubebuilder:resource": {
		group: "Kinds", summary: "Says what the kind is called in URLs and on the command line, and whether it lives in namespaces.",
		example: "+kubebuilder:resource:scope=Cluster,shortName=cj;crj,categories=all",
		arguments: map[string]argumentText{
			"path":       {"The name in URLs, in the plural.", "the kind in lower case, in the plural"},
			"shortName":  {"Names for those who type it a lot.", ""},
			"categories": {"Groups of kinds to list together; kubectl get all shows those in all.", ""},
			"singular":   {"The name for one object on the command line.", "the kind in lower case"},
			"scope":      {"Namespaced or Cluster.", "Namespaced"},
		},
	},
	"kubebuilder:subresource:status": {
		group: "Kinds", summary: "Serves the status apart, so that who writes the spec cannot write the status and the other way round.",
		example: "+kubebuilder:subresource:status",
	},
	"kubebuilder:subresource:scale": {
		group: "Kinds", summary: "Serves the number of replicas apart, for kubectl scale and autoscalers.",
		example: "+kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector",
		arguments: map[string]argumentText{
			"specpath":     {"The path of the number that is wanted.", ""},
			"statuspath":   {"The path of the number that there is.", ""},
			"selectorpath": {"The path of the label selector of the pods, written as a string. HorizontalPodAutoscaler needs it.", ""},
		},
	},
	"kubebuilder:printcolumn": {
		group: "Kinds", summary: "Adds a column to what kubectl get prints.",
		details: "As soon as a kind has one, the column AGE is no longer there by itself.",
		example: "+kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp",
		arguments: map[string]argumentText{
			"name":        {"The title of the column.", ""},
			"type":        {"boolean, date, integer, number or string.", ""},
			"JSONPath":    {"Where in the object the value is; it begins with a dot.", ""},
			"description": {"What the column shows.", ""},
			"format":      {"How to print the value, such as int32 or date-time.", ""},
			"priority":    {"0 to show the column always, more to show it only with -o wide.", "0"},
		},
	},
	"kubebuilder:selectablefield": {
		group: "Kinds", summary: "Lets clients list objects by the value of a field.",
		example: "+kubebuilder:selectablefield:JSONPath=.spec.color",
		arguments: map[string]argumentText{
			"JSONPath": {"Where in the object the field is: a string, an integer or a boolean outside of lists.", ""},
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
		arguments: map[string]argumentText{
			"warning": {"The text of the warning.", "a text that names the version"},
		},
	},
	"kubebuilder:metadata": {
		group: "Kinds", summary: "Puts annotations and labels on the CRD itself.",
		example: `+kubebuilder:metadata:annotations="example.com/owner=team-a",labels="example.com/tier=1"`,
		arguments: map[string]argumentText{
			"annotations": {"Annotations, each as key=value.", ""},
			"labels":      {"Labels, each as key=value.", ""},
		},
	},
}
