package testenv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
)

const rbacVersion = "rbac.authorization.k8s.io/v1"

// users counts the users of Restricted, for unique names.
var users atomic.Int64

// Restricted returns a config with the permissions of the deployed operator, so that the test fails if a marker for a
// permission is missing. The config has the permissions of the roles in the files and directories that are bound to a
// ServiceAccount there, or of all roles if none is bound. A manager with this config gets Forbidden for everything
// else, and its readiness reports the missing permissions. The roles are created under unique names, in their
// namespace, or in default if they have none. Missing namespaces are created. Everything is deleted at the end of the
// test. The config impersonates another user. The caller owns it.
//
//	m, err := manager.New(env.Restricted(t, "../../config/rbac"), manager.Options{})
//
// Webhooks that such a manager installs itself ([manager.WebhookOptions].Manifests) need additional permissions.
func (e *Env) Restricted(t testing.TB, paths ...string) *rest.Config {
	t.Helper()
	name := fmt.Sprintf("kctrl-restricted-%d-%d", time.Now().UnixNano(), users.Add(1))
	config := rest.CopyConfig(e.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: name}
	if err := e.restrict(t, config, name, paths); err != nil {
		t.Fatalf("restrict to the roles: %v", err)
	}
	return config
}

// grantedRole is a role with its bindings.
type grantedRole struct {
	*unstructured.Unstructured
	bindings []*unstructured.Unstructured // those for a ServiceAccount
}

func (e *Env) restrict(t testing.TB, config *rest.Config, name string, paths []string) error {
	roles, err := grantedRoles(paths)
	if err != nil {
		return err
	}
	if len(roles) == 0 {
		return errors.New("there is no Role and no ClusterRole")
	}
	live, err := client.New(e.Config, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		return err
	}
	as, err := client.New(config, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		return err
	}
	for i, role := range roles {
		granted, err := grant(t, live, role, name, fmt.Sprintf("%s-%d", name, i))
		if err != nil {
			return err
		}
		if err := awaitGranted(t.Context(), as, role, granted); err != nil {
			return fmt.Errorf("%s %s: %w", role.GetKind(), role.GetName(), err)
		}
	}
	return nil
}

// grantedRoles returns the roles that are bound to a ServiceAccount, or all roles if none is bound.
func grantedRoles(paths []string) (roles []grantedRole, err error) {
	var bindings []*unstructured.Unstructured
	err = eachObject(paths, func(object *unstructured.Unstructured) error {
		if object.GroupVersionKind().Group != "rbac.authorization.k8s.io" {
			return nil
		}
		switch object.GetKind() {
		case "Role", "ClusterRole":
			roles = append(roles, grantedRole{Unstructured: object})
		case "RoleBinding", "ClusterRoleBinding":
			bindings = append(bindings, object)
		}
		return nil
	})
	var bound []grantedRole
	for _, role := range roles {
		for _, binding := range bindings {
			if binds(binding, role) {
				role.bindings = append(role.bindings, binding)
			}
		}
		if len(role.bindings) > 0 {
			bound = append(bound, role)
		}
	}
	if len(bound) > 0 {
		roles = bound
	}
	return roles, err
}

func binds(binding *unstructured.Unstructured, role grantedRole) bool {
	kind, _, _ := unstructured.NestedString(binding.Object, "roleRef", "kind")
	name, _, _ := unstructured.NestedString(binding.Object, "roleRef", "name")
	subjects, _, _ := unstructured.NestedSlice(binding.Object, "subjects")
	for _, subject := range subjects {
		if fields, ok := subject.(map[string]any); ok && fields["kind"] == "ServiceAccount" {
			return kind == role.GetKind() && name == role.GetName()
		}
	}
	return false
}

// grant creates a role and binds it to a user. It returns the namespaces of the bindings; empty means all namespaces.
func grant(t testing.TB, live *client.REST, role grantedRole, user, name string) (namespaces []string, err error) {
	copied := role.DeepCopy()
	copied.Object["metadata"] = map[string]any{"name": name}
	if role.GetKind() == "Role" {
		copied.SetNamespace(cmp.Or(role.GetNamespace(), "default"))
	}
	if err := createForTest(t, live, copied); err != nil {
		return nil, err
	}
	for _, binding := range role.bindings {
		namespace := ""
		if binding.GetKind() == "RoleBinding" {
			namespace = cmp.Or(binding.GetNamespace(), "default")
		}
		if !slices.Contains(namespaces, namespace) {
			namespaces = append(namespaces, namespace)
		}
	}
	if len(namespaces) == 0 {
		namespaces = []string{copied.GetNamespace()}
	}
	for _, namespace := range namespaces {
		kind := "RoleBinding"
		if namespace == "" {
			kind = "ClusterRoleBinding"
		}
		binding := &unstructured.Unstructured{Object: map[string]any{
			"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": role.GetKind(), "name": name},
			"subjects": []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}},
		}}
		binding.SetGroupVersionKind(schema.FromAPIVersionAndKind(rbacVersion, kind))
		binding.SetName(name)
		binding.SetNamespace(namespace)
		if err := createForTest(t, live, binding); err != nil {
			return nil, err
		}
	}
	return namespaces, nil
}

// createForTest creates an object, and its namespace if necessary. Both are deleted at the end of the test.
func createForTest(t testing.TB, live *client.REST, object *unstructured.Unstructured) error {
	err := live.Create(t.Context(), object)
	if apierrors.IsNotFound(err) && object.GetNamespace() != "" {
		namespace := &unstructured.Unstructured{}
		namespace.SetGroupVersionKind(schema.FromAPIVersionAndKind("v1", "Namespace"))
		namespace.SetName(object.GetNamespace())
		if err := createForTest(t, live, namespace); err != nil {
			return err
		}
		err = live.Create(t.Context(), object)
	}
	if err != nil {
		return err
	}
	t.Cleanup(func() {
		if err := live.Delete(context.WithoutCancel(t.Context()), object); client.IgnoreNotFound(err) != nil {
			t.Errorf("delete %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	})
	return nil
}

// awaitGranted waits until a role and its bindings take effect, which takes some milliseconds on a real server.
func awaitGranted(ctx context.Context, as *client.REST, role grantedRole, namespaces []string) error {
	asked := askable(role)
	if asked == nil {
		return nil
	}
	for _, namespace := range namespaces {
		asked["namespace"] = namespace
		for {
			review := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"resourceAttributes": asked}}}
			review.SetGroupVersionKind(schema.FromAPIVersionAndKind("authorization.k8s.io/v1", "SelfSubjectAccessReview"))
			if err := as.Create(ctx, review); err != nil {
				return err
			}
			if allowed, _, _ := unstructured.NestedBool(review.Object, "status", "allowed"); allowed {
				break
			}
		}
	}
	return nil
}

// askable returns an action that a role permits, or nil.
func askable(role grantedRole) map[string]any {
	rules, _, _ := unstructured.NestedSlice(role.Object, "rules")
	for _, rule := range rules {
		fields, _ := rule.(map[string]any)
		first := func(name string) string {
			values, _, _ := unstructured.NestedStringSlice(fields, name)
			if len(values) == 0 {
				return ""
			}
			return values[0]
		}
		if resource := first("resources"); resource != "" && first("verbs") != "" {
			resource, part, _ := strings.Cut(resource, "/")
			return map[string]any{"verb": first("verbs"), "group": first("apiGroups"), "resource": resource, "subresource": part,
				"name": first("resourceNames")}
		}
	}
	return nil
}
