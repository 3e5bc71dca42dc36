package builtin

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// declaration is a problem that upstream's generated code finds, not its written code.
type declaration struct {
	path   string // with [*] for each item of a list
	kind   field.ErrorType
	detail string // nothing for any
}

// declared has the declarations of kinds that are in force, in the order in which the generated code looks at them.
var declared = map[string][]declaration{
	"ClusterRole":        {{"rules[*].verbs", field.ErrorTypeRequired, ""}},
	"Role":               {{"rules[*].verbs", field.ErrorTypeRequired, ""}},
	"ClusterRoleBinding": {{"subjects[*].name", field.ErrorTypeRequired, ""}, {"roleRef.name", field.ErrorTypeRequired, ""}},
	"RoleBinding":        {{"subjects[*].name", field.ErrorTypeRequired, ""}, {"roleRef.name", field.ErrorTypeRequired, ""}},
	"CronJob":            {{"spec.schedule", field.ErrorTypeRequired, ""}},
	"EndpointSlice": {
		{"addressType", field.ErrorTypeRequired, ""},
		{"addressType", field.ErrorTypeInvalid, validation.FieldImmutableErrorMsg},
		{"addressType", field.ErrorTypeNotSupported, ""},
		{"endpoints[*].addresses", field.ErrorTypeRequired, ""},
		{"endpoints[*].addresses", field.ErrorTypeTooMany, ""},
	},
	"HorizontalPodAutoscaler": {
		{"spec.minReplicas", field.ErrorTypeInvalid, "must be greater than or equal to 0"},
		{"spec.minReplicas", field.ErrorTypeInvalid, "must be greater than or equal to 1"},
		{"spec.maxReplicas", field.ErrorTypeRequired, ""},
		{"spec.maxReplicas", field.ErrorTypeInvalid, "must be greater than or equal to 1"},
	},
	"IngressClass": {{"spec.parameters.kind", field.ErrorTypeRequired, ""}, {"spec.parameters.name", field.ErrorTypeRequired, ""}},
	"IPAddress": {
		{"spec.parentRef", field.ErrorTypeRequired, ""},
		{"spec.parentRef", field.ErrorTypeInvalid, validation.FieldImmutableErrorMsg},
		{"spec.parentRef.resource", field.ErrorTypeRequired, ""},
		{"spec.parentRef.name", field.ErrorTypeRequired, ""},
	},
	"NetworkPolicy": {{"spec.ingress[*].from[*].ipBlock.cidr", field.ErrorTypeRequired, ""}, {"spec.egress[*].to[*].ipBlock.cidr", field.ErrorTypeRequired, ""}},
	"ReplicationController": {
		{"spec.replicas", field.ErrorTypeRequired, ""},
		{"spec.replicas", field.ErrorTypeInvalid, "must be greater than or equal to 0"},
		{"spec.minReadySeconds", field.ErrorTypeInvalid, "must be greater than or equal to 0"},
	},
	"RuntimeClass": {
		{"handler", field.ErrorTypeInvalid, validation.FieldImmutableErrorMsg},
		{"handler", field.ErrorTypeRequired, ""},
		{"handler", field.ErrorTypeInvalid, ""},
	},
	"StorageClass": {
		{"provisioner", field.ErrorTypeRequired, ""},
		{"provisioner", field.ErrorTypeInvalid, validation.FieldImmutableErrorMsg},
		{"parameters", field.ErrorTypeInvalid, validation.FieldImmutableErrorMsg},
		{"reclaimPolicy", field.ErrorTypeInvalid, validation.FieldImmutableErrorMsg},
		{"volumeBindingMode", field.ErrorTypeInvalid, validation.FieldImmutableErrorMsg},
	},
	"ValidatingAdmissionPolicyBinding": {{"spec.policyName", field.ErrorTypeRequired, ""}, {"spec.validationActions", field.ErrorTypeRequired, ""}},
	"VolumeAttachment": {
		{"spec", field.ErrorTypeInvalid, validation.FieldImmutableErrorMsg},
		{"spec.attacher", field.ErrorTypeRequired, ""},
		{"spec.attacher", field.ErrorTypeInvalid, ""},
		{"spec.attacher", field.ErrorTypeTooLong, ""},
	},
}

var itemIndex = regexp.MustCompile(`\[\d+\]`)

// DeclaredLast sorts the problems of a kind as the real server tells them: those that are declared after the others, which are FromImperative
// where written code finds what a declaration would have found too.
func DeclaredLast(kind string, problems field.ErrorList) field.ErrorList {
	fixed := slices.DeleteFunc(slices.Clone(problems), func(problem *field.Error) bool { return problem.Detail != validation.FieldImmutableErrorMsg })
	rank := func(problem *field.Error) int {
		if slices.ContainsFunc(fixed, func(parent *field.Error) bool { return strings.HasPrefix(problem.Field, parent.Field+".") }) {
			return -1 // the generated code does not look into what should not have changed
		}
		path := itemIndex.ReplaceAllString(problem.Field, "[*]")
		return slices.IndexFunc(declared[kind], func(d declaration) bool {
			return !problem.FromImperative && d.path == path && d.kind == problem.Type && (d.detail == "" || d.detail == problem.Detail)
		})
	}
	slices.SortStableFunc(problems, func(a, b *field.Error) int { return cmp.Compare(rank(a), rank(b)) })
	return problems
}
