package randomapi

import (
	"fmt"
	"strings"
)

// document writes the doc comment of a name, and its markers in the comment or before it.
func (f *file) document(indent, name string, markers []string) string {
	comment := f.comment(indent, name)
	var lines strings.Builder
	for _, marker := range markers {
		lines.WriteString(indent + marker + "\n")
	}
	switch {
	case comment != "" && len(markers) > 0 && f.one(6):
		return lines.String() + "\n" + comment
	case f.one(2):
		return comment + lines.String()
	}
	return lines.String() + comment
}

// markPackage chooses the markers of an API package.
func (f *file) markPackage() {
	f.markers = []string{f.pick("// +kubebuilder:object:generate=true", "// +k8s:deepcopy-gen=package,register"),
		"// +groupName=" + f.name + ".example.com"}
	f.markers = append(f.markers, f.some(1, "// +kubebuilder:validation:Optional", "// +kubebuilder:validation:Required",
		"// +versionName="+f.pkg)...)
}

// kindMarkers returns markers of a root type.
func (f *file) kindMarkers(name string, n int) []string {
	lower := strings.ToLower(name)
	lines := []string{f.pick("// +kubebuilder:object:root=true", "// +kubebuilder:object:root:=true",
		"// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object"), "// +kubebuilder:storageversion"}
	lines = append(lines, f.some(1,
		"// +kubebuilder:resource:scope=Cluster",
		fmt.Sprintf("// +kubebuilder:resource:path=%ss,shortName=s%d;t%d,categories={all,some}", lower, n, n),
		"// +kubebuilder:resource:singular="+lower+",scope=Namespaced",
	)...)
	return append(lines, f.some(4,
		"// +kubebuilder:subresource:status",
		"// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector",
		"// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp",
		"// +kubebuilder:printcolumn:name=\"Ready or not\",type=string,JSONPath=`.status.conditions[?(@.type==\"Ready\")].status`,description=\"It is: ready\",priority=1",
		"// +kubebuilder:printcolumn:JSONPath=\".spec.size\",name=Size,type=integer,format=int32",
		"// +kubebuilder:selectablefield:JSONPath=.spec.color",
		"// +kubebuilder:deprecatedversion:warning=\"use something else, please: soon\"",
		"// +kubebuilder:metadata:annotations=\"a=b\";\"c.example.com/d=e f\",labels=x=y",
		"// +kubebuilder:metadata:labels={one=1,two=2}",
	)...)
}

// typeMarkers returns markers of a struct.
func (f *file) typeMarkers(keys []string) []string {
	of := []string{
		"// +structType=atomic", "// +kubebuilder:validation:MinProperties=1", "// +kubebuilder:validation:MaxProperties=20",
		"// +kubebuilder:title=\"" + f.pick("A title", "it's") + "\"",
		"// +kubebuilder:externalDocs:url=\"https://example.com\",description=more",
		"// +kubebuilder:pruning:PreserveUnknownFields", "// +kubebuilder:validation:XPreserveUnknownFields",
	}
	lines := f.some(2, of...)
	for range f.IntN(2) * f.IntN(3) {
		lines = append(lines, f.rule(keys))
	}
	return lines
}

// rule returns a CEL rule.
func (f *file) rule(keys []string) string {
	self := "self == oldSelf"
	if len(keys) > 0 {
		self = "self." + f.pick(keys...) + " != 'a: \\\"b\\\"'"
	}
	return "// +kubebuilder:validation:XValidation:rule=\"" + self + "\"" + f.pick("", ",message=\"must: be so\"",
		",messageExpression=\"'x' + 'y'\"",
		",reason=FieldValueForbidden", ",message=never,fieldPath=\".spec\"", ",optionalOldSelf=true")
}

// limits returns markers that limit values of a type.
func (f *file) limits(t typ) []string {
	const v = "// +kubebuilder:validation:"
	if t.foreign() && t.shape <= truth {
		// controller-gen does not resolve types of other packages.
		return nil
	}
	switch t.shape {
	case text:
		if t.enum {
			return f.some(1, v+"Enum=a;b")
		}
		return f.some(3, v+"MinLength="+f.pick("0", "1"), v+"MaxLength="+f.pick("10", "253"),
			v+f.pick("Pattern=`^[a-z]+$`", `Pattern="^\\d+: [a-z]$"`, "Pattern:=^x$"),
			v+"Format="+f.pick("uri", "date-time", "ipv4"))
	case number:
		return f.some(3, f.pick(v+"Minimum=", "// +k8s:minimum=")+f.pick("0", "-5", "1"),
			f.pick(v+"Maximum=", "// +k8s:maximum=")+f.pick("10", "65535"),
			v+"MultipleOf="+f.pick("2", "5"), v+"ExclusiveMinimum="+f.pick("true", "false"), v+"ExclusiveMaximum=true",
			v+"Format=int32")
	case list:
		return append(f.some(2, v+"MinItems="+f.pick("0", "1"), f.pick(v+"MaxItems=", "// +k8s:maxItems=")+f.pick("8", "64")),
			f.lists(t)...)
	case dictionary:
		return f.some(2, v+"MinProperties=1", v+"MaxProperties=16", "// +mapType="+f.pick("atomic", "granular"))
	}
	return nil
}

// lists returns markers that only lists have.
func (f *file) lists(t typ) []string {
	const items = "// +kubebuilder:validation:items:"
	switch {
	case t.limit, !strings.HasPrefix(t.name, "["):
		return nil
	case t.items == structure && len(t.keys) > 0 && f.one(2):
		kind, key := f.pick("// +listType=map", "// +k8s:listType=map"), "// +listMapKey="
		if strings.Contains(kind, "k8s") {
			key = "// +k8s:listMapKey="
		}
		lines := []string{kind, key + t.keys[0]}
		if len(t.keys) > 1 && f.one(2) {
			lines = append(lines, key+t.keys[1])
		}
		return lines
	case t.items == text:
		return append(f.some(2, items+"MinLength=1", items+"MaxLength=63", items+"Pattern=`^a`", items+"Enum=a;b",
			items+"Format=uri"), f.some(1, "// +listType=set", "// +listType=atomic", "// +k8s:listType=set")...)
	case t.items == number:
		return f.some(2, items+"Minimum=1", items+"Maximum=9", items+"MultipleOf=3")
	case t.items == list:
		return f.some(1, items+"MaxItems=5", items+"MinItems=1", "// +listType=atomic")
	}
	return f.some(1, "// +listType=atomic", "// +kubebuilder:validation:UniqueItems=false")
}
