package builtin

import (
	"strings"

	clusterroleregistry "k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	clusterrolebindingregistry "k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	roleregistry "k8s.io/kubernetes/pkg/registry/rbac/role"
	rolebindingregistry "k8s.io/kubernetes/pkg/registry/rbac/rolebinding"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// This file contains the kinds of rbac.authorization.k8s.io/v1. The server enforces them.

var rbacV1 = rbacv1.SchemeGroupVersion

// RoleKind is the kind Role.
var RoleKind = Kind{
	GVK: rbacV1.WithKind("Role"), Resource: "roles", Namespaced: true,
	Rules: By(roleregistry.Strategy),
}

// ClusterRoleKind is the kind ClusterRole.
var ClusterRoleKind = Kind{
	GVK: rbacV1.WithKind("ClusterRole"), Resource: "clusterroles",
	Rules: By(clusterroleregistry.Strategy),
}

// RoleBindingKind is the kind RoleBinding.
var RoleBindingKind = Kind{
	GVK: rbacV1.WithKind("RoleBinding"), Resource: "rolebindings", Namespaced: true,
	Columns: bindingColumns("roleBinding", rbacv1.RoleBinding{}.SwaggerDoc()["roleRef"], RoleBindingOf),
	Rules:   By(rolebindingregistry.Strategy),
}

// ClusterRoleBindingKind is the kind ClusterRoleBinding.
var ClusterRoleBindingKind = Kind{
	GVK: rbacV1.WithKind("ClusterRoleBinding"), Resource: "clusterrolebindings",
	Columns: bindingColumns("clusterRoleBinding", rbacv1.ClusterRoleBinding{}.SwaggerDoc()["roleRef"],
		ClusterRoleBindingOf),
	Rules: By(clusterrolebindingregistry.Strategy),
}

// Binding is the common part of RoleBindings and ClusterRoleBindings.
type Binding struct {
	Role     rbacv1.RoleRef
	subjects []rbacv1.Subject
}

// RoleBindingOf returns the Binding of a RoleBinding.
func RoleBindingOf(object runtime.Object) Binding {
	b := object.(*rbacv1.RoleBinding)
	return Binding{b.RoleRef, b.Subjects}
}

// ClusterRoleBindingOf returns the Binding of a ClusterRoleBinding.
func ClusterRoleBindingOf(object runtime.Object) Binding {
	b := object.(*rbacv1.ClusterRoleBinding)
	return Binding{b.RoleRef, b.Subjects}
}

// names returns the names of the subjects that have the given kind.
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
		columns = append(columns, Col(kind+"s", "string wide", kind+"s in the "+what,
			func(object runtime.Object) any { return of(object).names(kind) }))
	}
	return columns
}

// invalid returns an error for each message about a value.
func invalid(path *field.Path, value any, messages []string) (problems field.ErrorList) {
	for _, message := range messages {
		problems = append(problems, field.Invalid(path, value, message))
	}
	return problems
}
