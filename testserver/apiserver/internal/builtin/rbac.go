package builtin

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
)

// Kinds of rbac.authorization.k8s.io/v1. What they let users do is the server's business.

var rbacV1 = rbacv1.SchemeGroupVersion

func rbacDefaults() []Defaulter {
	return []Defaulter{
		DefaultsOf(func(b *rbacv1.RoleBinding) { Set(&b.RoleRef.APIGroup, rbacv1.GroupName) }),
		DefaultsOf(func(b *rbacv1.ClusterRoleBinding) { Set(&b.RoleRef.APIGroup, rbacv1.GroupName) }),
		DefaultsOf(func(s *rbacv1.Subject) {
			if s.Kind == rbacv1.UserKind || s.Kind == rbacv1.GroupKind {
				Set(&s.APIGroup, rbacv1.GroupName)
			}
		}),
	}
}

// RoleKind is Role.
var RoleKind = Kind{
	GVK: rbacV1.WithKind("Role"), Resource: "roles", Namespaced: true,
	Rules: Rules{
		Unconditional: true, Creates: true,
		Validate: func(object runtime.Object) field.ErrorList { return validateRole(object.(*rbacv1.Role)) },
		ValidateUpdate: func(object, _ runtime.Object) field.ErrorList {
			return append(validateFinalizersTwice(object), validatePolicyRules(object.(*rbacv1.Role).Rules, true)...)
		},
	},
}

// ClusterRoleKind is ClusterRole.
var ClusterRoleKind = Kind{
	GVK: rbacV1.WithKind("ClusterRole"), Resource: "clusterroles",
	Rules: Rules{
		Unconditional: true, Creates: true,
		Validate: func(object runtime.Object) field.ErrorList {
			role := object.(*rbacv1.ClusterRole)
			return append(ValidateMetadata(&role.ObjectMeta, false, roleName), validateClusterRules(role, metav1validation.LabelSelectorValidationOptions{})...)
		},
		ValidateUpdate: func(object, old runtime.Object) field.ErrorList {
			// A selector that was stored with a wrong value may stay.
			options := metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: hasInvalidSelector(old.(*rbacv1.ClusterRole))}
			return append(validateFinalizersTwice(object), validateClusterRules(object.(*rbacv1.ClusterRole), options)...)
		},
	},
}

// RoleBindingKind is RoleBinding.
var RoleBindingKind = Kind{
	GVK: rbacV1.WithKind("RoleBinding"), Resource: "rolebindings", Namespaced: true,
	Columns: bindingColumns("roleBinding", rbacv1.RoleBinding{}.SwaggerDoc()["roleRef"], RoleBindingOf),
	Rules: Rules{
		Unconditional: true, Creates: true,
		Validate: func(object runtime.Object) field.ErrorList {
			b := object.(*rbacv1.RoleBinding)
			return append(ValidateMetadata(&b.ObjectMeta, true, roleName), validateBinding(b.RoleRef, b.Subjects, true)...)
		},
		ValidateUpdate: func(object, old runtime.Object) field.ErrorList {
			b, was := object.(*rbacv1.RoleBinding), old.(*rbacv1.RoleBinding)
			problems := append(validateFinalizersTwice(object), validateBinding(b.RoleRef, b.Subjects, true)...)
			return append(problems, validation.ValidateImmutableField(shownRole(b.RoleRef), shownRole(was.RoleRef), field.NewPath("roleRef"))...)
		},
	},
}

// ClusterRoleBindingKind is ClusterRoleBinding.
var ClusterRoleBindingKind = Kind{
	GVK: rbacV1.WithKind("ClusterRoleBinding"), Resource: "clusterrolebindings",
	Columns: bindingColumns("clusterRoleBinding", rbacv1.ClusterRoleBinding{}.SwaggerDoc()["roleRef"], ClusterRoleBindingOf),
	Rules: Rules{
		Unconditional: true, Creates: true,
		Validate: func(object runtime.Object) field.ErrorList {
			b := object.(*rbacv1.ClusterRoleBinding)
			return append(ValidateMetadata(&b.ObjectMeta, false, roleName), validateBinding(b.RoleRef, b.Subjects, false)...)
		},
		ValidateUpdate: func(object, old runtime.Object) field.ErrorList {
			b, was := object.(*rbacv1.ClusterRoleBinding), old.(*rbacv1.ClusterRoleBinding)
			problems := append(validateFinalizersTwice(object), validateBinding(b.RoleRef, b.Subjects, false)...)
			return append(problems, validation.ValidateImmutableField(shownRole(b.RoleRef), shownRole(was.RoleRef), field.NewPath("roleRef"))...)
		},
	},
}

// Binding is what bindings in a namespace and in all have in common.
type Binding struct {
	Role     rbacv1.RoleRef
	subjects []rbacv1.Subject
}

// RoleBindingOf is what a RoleBinding binds.
func RoleBindingOf(object runtime.Object) Binding {
	b := object.(*rbacv1.RoleBinding)
	return Binding{b.RoleRef, b.Subjects}
}

// ClusterRoleBindingOf is what a ClusterRoleBinding binds.
func ClusterRoleBindingOf(object runtime.Object) Binding {
	b := object.(*rbacv1.ClusterRoleBinding)
	return Binding{b.RoleRef, b.Subjects}
}

// names are those of the subjects of a kind.
func (b Binding) names(kind string) string {
	var names []string
	for _, s := range b.subjects {
		switch {
		case s.Kind != kind:
		case kind == rbacv1.ServiceAccountKind:
			names = append(names, s.Namespace+"/"+s.Name)
		default:
			names = append(names, s.Name)
		}
	}
	return strings.Join(names, ", ")
}

func bindingColumns(what, doc string, of func(object runtime.Object) Binding) []Column {
	columns := []Column{
		Col("Role", "string", strings.TrimSuffix(doc, " This field is immutable."), func(object runtime.Object) any {
			role := of(object).Role
			return role.Kind + "/" + role.Name
		}),
		SinceColumn,
	}
	for _, kind := range []string{rbacv1.UserKind, rbacv1.GroupKind, rbacv1.ServiceAccountKind} {
		columns = append(columns, Col(kind+"s", "string wide", kind+"s in the "+what, func(object runtime.Object) any { return of(object).names(kind) }))
	}
	return columns
}

// validateFinalizersTwice checks them as the real server does in updates, where the metadata is checked for all kinds besides.
func validateFinalizersTwice(object runtime.Object) field.ErrorList {
	problems := ValidateFinalizerNames(must.Access(object), field.NewPath("metadata"))
	return append(problems, problems...)
}

func roleName(name string, _ bool) []string { return content.IsPathSegmentName(name) }

func validateRole(role *rbacv1.Role) field.ErrorList {
	return append(ValidateMetadata(&role.ObjectMeta, true, roleName), validatePolicyRules(role.Rules, true)...)
}

func validateClusterRules(role *rbacv1.ClusterRole, options metav1validation.LabelSelectorValidationOptions) field.ErrorList {
	problems := validatePolicyRules(role.Rules, false)
	if role.AggregationRule == nil {
		return problems
	}
	path := field.NewPath("aggregationRule", "clusterRoleSelectors")
	if len(role.AggregationRule.ClusterRoleSelectors) == 0 {
		problems = append(problems, field.Required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil"))
	}
	for i := range role.AggregationRule.ClusterRoleSelectors {
		given := &role.AggregationRule.ClusterRoleSelectors[i]
		problems = append(problems, metav1validation.ValidateLabelSelector(given, options, path.Index(i))...)
		if selector, err := metav1.LabelSelectorAsSelector(given); err != nil {
			problems = append(problems, field.Invalid(path.Index(i), selector, "invalid label selector."))
		}
	}
	return problems
}

func hasInvalidSelector(role *rbacv1.ClusterRole) bool {
	if role.AggregationRule == nil {
		return false
	}
	for i := range role.AggregationRule.ClusterRoleSelectors {
		if len(metav1validation.ValidateLabelSelector(&role.AggregationRule.ClusterRoleSelectors[i], metav1validation.LabelSelectorValidationOptions{}, nil)) > 0 {
			return true
		}
	}
	return false
}

func validatePolicyRules(rules []rbacv1.PolicyRule, namespaced bool) (problems field.ErrorList) {
	for i, rule := range rules {
		path := field.NewPath("rules").Index(i)
		required := func(missing bool, name, message string) {
			if missing {
				problems = append(problems, field.Required(path.Child(name), message))
			}
		}
		required(len(rule.Verbs) == 0, "verbs", "")
		if urls := path.Child("nonResourceURLs"); len(rule.NonResourceURLs) > 0 {
			if namespaced {
				problems = append(problems, field.Invalid(urls, rule.NonResourceURLs, "namespaced rules cannot apply to non-resource URLs"))
			}
			if len(rule.APIGroups) > 0 || len(rule.Resources) > 0 || len(rule.ResourceNames) > 0 {
				problems = append(problems, field.Invalid(urls, rule.NonResourceURLs, "rules cannot apply to both regular resources and non-resource URLs"))
			}
			continue
		}
		required(len(rule.APIGroups) == 0, "apiGroups", "resource rules must supply at least one api group")
		required(len(rule.Resources) == 0, "resources", "resource rules must supply at least one resource")
	}
	return problems
}

// shownRole is a role as errors show it, which is as the real server has it in memory.
type shownRole struct{ APIGroup, Kind, Name string }

func validateBinding(role rbacv1.RoleRef, subjects []rbacv1.Subject, namespaced bool) (problems field.ErrorList) {
	path, kinds := field.NewPath("roleRef"), []string{"ClusterRole"}
	if namespaced {
		kinds = []string{"Role", "ClusterRole"}
	}
	if role.APIGroup != rbacv1.GroupName {
		problems = append(problems, field.NotSupported(path.Child("apiGroup"), role.APIGroup, []string{rbacv1.GroupName}))
	}
	if role.Kind != "ClusterRole" && (!namespaced || role.Kind != "Role") {
		problems = append(problems, field.NotSupported(path.Child("kind"), role.Kind, kinds))
	}
	if role.Name == "" {
		problems = append(problems, field.Required(path.Child("name"), ""))
	} else {
		problems = append(problems, invalid(path.Child("name"), role.Name, content.IsPathSegmentName(role.Name))...)
	}
	for i, s := range subjects {
		problems = append(problems, validateSubject(s, namespaced, field.NewPath("subjects").Index(i))...)
	}
	return problems
}

func validateSubject(s rbacv1.Subject, namespaced bool, path *field.Path) (problems field.ErrorList) {
	if s.Name == "" {
		problems = append(problems, field.Required(path.Child("name"), ""))
	}
	group := rbacv1.GroupName
	switch s.Kind {
	case rbacv1.UserKind, rbacv1.GroupKind:
	case rbacv1.ServiceAccountKind:
		group = ""
		if s.Name != "" {
			problems = append(problems, invalid(path.Child("name"), s.Name, validation.ValidateServiceAccountName(s.Name, false))...)
		}
	default:
		return append(problems, field.NotSupported(path.Child("kind"), s.Kind, []string{rbacv1.ServiceAccountKind, rbacv1.UserKind, rbacv1.GroupKind}))
	}
	if s.APIGroup != group {
		problems = append(problems, field.NotSupported(path.Child("apiGroup"), s.APIGroup, []string{group}))
	}
	if s.Kind == rbacv1.ServiceAccountKind && !namespaced && s.Namespace == "" {
		problems = append(problems, field.Required(path.Child("namespace"), ""))
	}
	return problems
}

// invalid says with each message that a value is invalid.
func invalid(path *field.Path, value any, messages []string) (problems field.ErrorList) {
	for _, message := range messages {
		problems = append(problems, field.Invalid(path, value, message))
	}
	return problems
}
