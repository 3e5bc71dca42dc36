package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/apis/rbac"
	rbacregistry "k8s.io/kubernetes/pkg/registry/rbac"
	"k8s.io/kubernetes/pkg/registry/rbac/validation"
	rbacauthorizer "k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/builtin"
	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/store"
)

// rbacKinds returns the kinds of rbac.authorization.k8s.io/v1.
func rbacKinds() []kind {
	return []kind{
		{Kind: builtin.ClusterRoleBindingKind, complete: checkRights(mayWriteBinding)},
		{Kind: builtin.ClusterRoleKind, complete: checkRights(mayWriteRole)},
		{Kind: builtin.RoleBindingKind, complete: checkRights(mayWriteBinding)},
		{Kind: builtin.RoleKind, complete: checkRights(mayWriteRole)},
	}
}

// roleAuthorizer authorizes requests with upstream's authorizer, based on the stored roles. It authorizes all requests
// of system:masters.
type roleAuthorizer struct {
	*rbacauthorizer.RBACAuthorizer
	rules                         *validation.DefaultRuleResolver
	clusterRoles, clusterBindings *store.Table
}

func (s *Server) newAuthorizer() *roleAuthorizer {
	cluster, bindings := s.tableOf(builtin.ClusterRoleKind), s.tableOf(builtin.ClusterRoleBindingKind)
	stored := storedRoles{s.tableOf(builtin.RoleKind), s.tableOf(builtin.RoleBindingKind), cluster, bindings}
	return &roleAuthorizer{
		RBACAuthorizer: rbacauthorizer.New(stored, stored, stored, stored),
		rules:          validation.NewDefaultRuleResolver(stored, stored, stored, stored),
		clusterRoles:   cluster, clusterBindings: bindings,
	}
}

func (a *roleAuthorizer) Authorize(ctx context.Context,
	attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	if isMaster(attributes.GetUser()) {
		return authorizer.DecisionAllow, "", nil
	}
	decision, reason, err := a.RBACAuthorizer.Authorize(ctx, attributes)
	if decision == authorizer.DecisionNoOpinion && reason != "" {
		reason = "rbac: " + reason // a chain of authorizers adds the name of the deciding one as a prefix
	}
	return decision, reason, err
}

// ConditionsAwareAuthorize decides like Authorize, because there are no conditions.
func (a *roleAuthorizer) ConditionsAwareAuthorize(
	ctx context.Context, attributes authorizer.Attributes,
) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(a.Authorize(ctx, attributes))
}

func isMaster(who user.Info) bool {
	return slices.Contains(who.GetGroups(), user.SystemPrivilegedGroup)
}

// storedRoles gives upstream's resolver the roles and bindings in the store.
type storedRoles struct {
	roles, bindings, clusterRoles, clusterBindings *store.Table
}

func (t storedRoles) GetRole(_ context.Context, namespace, name string) (*rbacv1.Role, error) {
	if record := t.roles.Get(rolePrefix + "roles/" + namespace + "/" + name); record != nil {
		return record.Object.(*rbacv1.Role), nil
	}
	return nil, apierrors.NewNotFound(rbacv1.Resource("role"), name)
}

func (t storedRoles) GetClusterRole(_ context.Context, name string) (*rbacv1.ClusterRole, error) {
	if record := t.clusterRoles.Get(rolePrefix + "clusterroles/" + name); record != nil {
		return record.Object.(*rbacv1.ClusterRole), nil
	}
	return nil, apierrors.NewNotFound(rbacv1.Resource("clusterrole"), name)
}

func (t storedRoles) ListRoleBindings(_ context.Context, namespace string) (all []*rbacv1.RoleBinding, _ error) {
	for _, record := range t.bindings.All(rolePrefix + "rolebindings/" + namespace + "/") {
		all = append(all, record.Object.(*rbacv1.RoleBinding))
	}
	return all, nil
}

func (t storedRoles) ListClusterRoleBindings(context.Context) (all []*rbacv1.ClusterRoleBinding, _ error) {
	for _, record := range t.clusterBindings.All(rolePrefix + "clusterrolebindings/") {
		all = append(all, record.Object.(*rbacv1.ClusterRoleBinding))
	}
	return all, nil
}

// rolePrefix is the prefix of the keys of roles and bindings in the store.
const rolePrefix = "/registry/" + rbacv1.GroupName + "/"

// attributesOf returns the attributes of a request.
func attributesOf(ctx context.Context, info *request.RequestInfo) authorizer.AttributesRecord {
	who, _ := request.UserFrom(ctx)
	a := authorizer.AttributesRecord{
		User: who, ResourceRequest: info.IsResourceRequest, Path: info.Path, Verb: info.Verb, APIGroup: info.APIGroup,
		APIVersion: info.APIVersion, Resource: info.Resource, Subresource: info.Subresource, Namespace: info.Namespace,
		Name: info.Name,
	}
	if info.FieldSelector != "" {
		selector, err := fields.ParseSelector(info.FieldSelector)
		if a.FieldSelectorParsingErr = err; err == nil {
			a.FieldSelectorRequirements = selector.Requirements()
		}
	}
	if info.LabelSelector != "" {
		selector, err := labels.Parse(info.LabelSelector)
		if a.LabelSelectorParsingErr = err; err == nil {
			a.LabelSelectorRequirements, _ = selector.Requirements()
		}
	}
	return a
}

// Users may not grant permissions that they do not have, unless they have the verb escalate, or the verb bind for the
// role.

// heldRights checks that the writer of a role or binding has the permissions that it grants.
type heldRights struct {
	*registry
	server *Server
	// check returns an error if the writer lacks a permission; old is nil for a creation.
	check func(ctx context.Context, h *heldRights, object, old runtime.Object) error
}

func checkRights(check func(ctx context.Context, h *heldRights, object, old runtime.Object) error) func(s *Server,
	r *registry, e *endpoint) {
	return func(s *Server, r *registry, e *endpoint) { e.objects = &heldRights{r, s, check} }
}

// confirm returns an error if a role or binding grants more permissions than its writer has.
func (h *heldRights) confirm(ctx context.Context, object runtime.Object, rules []rbacv1.PolicyRule) error {
	err := validation.ConfirmNoEscalation(ctx, h.server.roles.rules, rules)
	if err != nil {
		return apierrors.NewForbidden(h.resource, must.Access(object).GetName(), err)
	}
	return nil
}

func (h *heldRights) Create(ctx context.Context, object runtime.Object, validate rest.ValidateObjectFunc,
	options *metav1.CreateOptions) (runtime.Object, error) {
	if err := h.check(ctx, h, object, nil); err != nil {
		return nil, err
	}
	return h.registry.Create(ctx, object, validate, options)
}

func (h *heldRights) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo,
	validateCreation rest.ValidateObjectFunc,
	validateUpdate rest.ValidateObjectUpdateFunc, mayCreate bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	info = rest.WrapUpdatedObjectInfo(info, func(ctx context.Context, object, old runtime.Object) (runtime.Object, error) {
		if rbacregistry.IsOnlyMutatingGCFields(object, old, equality.Semantic) {
			return object, nil
		}
		return object, h.check(ctx, h, object, old)
	})
	return h.registry.Update(ctx, name, info, validateCreation, validateUpdate, mayCreate, options)
}

// rulesOf returns the rules of a role, and of a ClusterRole how it aggregates others.
func rulesOf(role runtime.Object) ([]rbacv1.PolicyRule, *rbacv1.AggregationRule) {
	if cluster, ok := role.(*rbacv1.ClusterRole); ok {
		return cluster.Rules, cluster.AggregationRule
	}
	return role.(*rbacv1.Role).Rules, nil
}

func mayWriteRole(ctx context.Context, h *heldRights, object, old runtime.Object) error {
	if h.server.mayEscalate(ctx) {
		return nil
	}
	rules, aggregation := rulesOf(object)
	if err := h.confirm(ctx, object, rules); err != nil {
		return err
	}
	aggregates := aggregation != nil && len(aggregation.ClusterRoleSelectors) > 0
	if old != nil {
		_, before := rulesOf(old)
		aggregates = aggregates || before != nil && len(before.ClusterRoleSelectors) > 0
	}
	if aggregates && validation.ConfirmNoEscalation(ctx, h.server.roles.rules, everyRight) != nil {
		return apierrors.NewForbidden(h.resource, must.Access(object).GetName(),
			errors.New("must have cluster-admin privileges to use the aggregationRule"))
	}
	return nil
}

func mayWriteBinding(ctx context.Context, h *heldRights, object, _ runtime.Object) error {
	of := builtin.RoleBindingOf
	if _, cluster := object.(*rbacv1.ClusterRoleBinding); cluster {
		of = builtin.ClusterRoleBindingOf
	}
	role, namespace := of(object).Role, request.NamespaceValue(ctx)
	if who, ok := request.UserFrom(ctx); !ok || isMaster(who) || h.server.mayBind(ctx, role, namespace) {
		return nil
	}
	rules, err := h.server.roles.rules.GetRoleReferenceRules(ctx, role, namespace)
	if apierrors.IsNotFound(err) {
		return apierrors.NewNotFound(h.qualified(ctx), role.Name)
	}
	if err != nil {
		return err
	}
	return h.confirm(ctx, object, rules)
}

var everyRight = []rbacv1.PolicyRule{
	{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
	{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}},
}

// mayEscalate reports whether a request may write rules with permissions that its user does not have. Requests of the
// server itself have no user.
func (s *Server) mayEscalate(ctx context.Context) bool {
	_, named := request.UserFrom(ctx)
	return !named || rbacregistry.EscalationAllowed(ctx) || rbacregistry.RoleEscalationAuthorized(ctx, s.authorizer)
}

func (s *Server) mayBind(ctx context.Context, role rbacv1.RoleRef, namespace string) bool {
	ref := rbac.RoleRef{APIGroup: role.APIGroup, Kind: role.Kind, Name: role.Name}
	return rbacregistry.BindingAuthorized(ctx, ref, namespace, s.authorizer)
}

// firstRoles are the initial roles, a subset of the real server's. They contain the permissions of all users, and of
// administrators.
const firstRoles = `[
{"kind":"ClusterRole","metadata":{"name":"cluster-admin"},"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]},{"nonResourceURLs":["*"],"verbs":["*"]}]},
{"kind":"ClusterRole","metadata":{"name":"system:basic-user"},"rules":[{"apiGroups":["authorization.k8s.io"],"resources":["selfsubjectaccessreviews","selfsubjectrulesreviews"],"verbs":["create"]},{"apiGroups":["authentication.k8s.io"],"resources":["selfsubjectreviews"],"verbs":["create"]}]},
{"kind":"ClusterRole","metadata":{"name":"system:discovery"},"rules":[{"nonResourceURLs":["/api","/api/*","/apis","/apis/*","/healthz","/livez","/openapi","/openapi/*","/readyz","/version","/version/"],"verbs":["get"]}]},
{"kind":"ClusterRole","metadata":{"name":"system:public-info-viewer"},"rules":[{"nonResourceURLs":["/healthz","/livez","/readyz","/version","/version/"],"verbs":["get"]}]},
{"kind":"ClusterRole","metadata":{"name":"system:service-account-issuer-discovery"},"rules":[{"nonResourceURLs":["/.well-known/openid-configuration","/.well-known/openid-configuration/","/openid/v1/jwks","/openid/v1/jwks/"],"verbs":["get"]}]},
{"kind":"ClusterRole","metadata":{"name":"system:cluster-trust-bundle-discovery"},"rules":[{"apiGroups":["certificates.k8s.io"],"resources":["clustertrustbundles"],"verbs":["get","list","watch"]}]},
{"kind":"ClusterRoleBinding","metadata":{"name":"system:cluster-trust-bundle-discovery"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"system:cluster-trust-bundle-discovery"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"system:serviceaccounts"}]},
{"kind":"ClusterRoleBinding","metadata":{"name":"system:service-account-issuer-discovery"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"system:service-account-issuer-discovery"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"system:serviceaccounts"}]},
{"kind":"ClusterRoleBinding","metadata":{"name":"cluster-admin"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"system:masters"}]},
{"kind":"ClusterRoleBinding","metadata":{"name":"system:basic-user"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"system:basic-user"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"system:authenticated"}]},
{"kind":"ClusterRoleBinding","metadata":{"name":"system:discovery"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"system:discovery"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"system:authenticated"}]},
{"kind":"ClusterRoleBinding","metadata":{"name":"system:public-info-viewer"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"system:public-info-viewer"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"system:authenticated"},{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"system:unauthenticated"}]}
]`

// addFirstRoles adds the missing initial roles directly to the store. It creates their endpoints only if the store is
// persistent.
func (s *Server) addFirstRoles() error {
	var raw []json.RawMessage
	must.Do(json.Unmarshal([]byte(firstRoles), &raw))
	now := metav1.Now()
	for _, data := range raw {
		var meta metav1.PartialObjectMetadata
		must.Do(json.Unmarshal(data, &meta))
		var object runtime.Object = &rbacv1.ClusterRole{}
		t, resource := s.roles.clusterRoles, "clusterroles"
		if meta.Kind == "ClusterRoleBinding" {
			object, t, resource = &rbacv1.ClusterRoleBinding{}, s.roles.clusterBindings, "clusterrolebindings"
		}
		must.Do(json.Unmarshal(data, object))
		object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		accessor := must.Access(object)
		accessor.SetUID(s.names.uid())
		accessor.SetCreationTimestamp(now.Rfc3339Copy())
		accessor.SetLabels(map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"})
		accessor.SetAnnotations(map[string]string{rbacv1.AutoUpdateAnnotationKey: "true"})
		if s.store.Persistent() {
			s.makeBuiltin(schema.GroupResource{Group: rbacv1.GroupName, Resource: resource})
		}
		if _, err := t.Put(rolePrefix+resource+"/"+accessor.GetName(), nil, &store.Record{Object: object}); err != nil {
			return err
		}
	}
	return nil
}

// impersonated returns the user that the headers impersonate. The requesting user needs the permission to impersonate
// that user.
func (s *Server) impersonated(ctx context.Context, header http.Header,
	who user.Info) (user.Info, *authorizer.AttributesRecord, string, error) {
	name, groups, uid := header.Get("Impersonate-User"), slices.Clone(header["Impersonate-Group"]),
		header.Get("Impersonate-Uid")
	extra := map[string][]string{}
	for key, values := range header {
		if key, ok := strings.CutPrefix(key, "Impersonate-Extra-"); ok {
			extra[strings.ToLower(unescapedKey(key))] = values
		}
	}
	if name == "" {
		if len(groups) > 0 || uid != "" || len(extra) > 0 {
			return nil, nil, "", apierrors.NewBadRequest(fmt.Sprintf("requested %v without impersonating a user", groups))
		}
		return who, nil, "", nil
	}
	asked := []authorizer.AttributesRecord{{Resource: "users", Name: name}}
	if namespace, account, err := serviceaccount.SplitUsername(name); err == nil {
		asked[0] = authorizer.AttributesRecord{Resource: "serviceaccounts", Namespace: namespace, Name: account}
		if len(groups) == 0 {
			groups = serviceaccount.MakeGroupNames(namespace)
		}
	}
	for _, group := range header["Impersonate-Group"] {
		asked = append(asked, authorizer.AttributesRecord{Resource: "groups", Name: group})
	}
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		for _, value := range extra[key] {
			asked = append(asked, authorizer.AttributesRecord{APIGroup: "authentication.k8s.io", APIVersion: "v1",
				Resource: "userextras", Subresource: key, Name: value})
		}
	}
	if uid != "" {
		asked = append(asked, authorizer.AttributesRecord{APIGroup: "authentication.k8s.io", APIVersion: "v1",
			Resource: "uids", Name: uid})
	}
	for i := range asked {
		a := &asked[i]
		a.User, a.Verb, a.ResourceRequest = who, "impersonate", true
		if decision, reason, err := s.authorizer.Authorize(ctx, a); err != nil || decision != authorizer.DecisionAllow {
			return nil, a, reason, nil
		}
	}
	everybody := user.AllAuthenticated
	if name == user.Anonymous {
		everybody = user.AllUnauthenticated
	}
	if !slices.Contains(groups, user.AllAuthenticated) && !slices.Contains(groups, user.AllUnauthenticated) {
		groups = append(groups, everybody)
	}
	return &user.DefaultInfo{Name: name, UID: uid, Groups: groups, Extra: extra}, nil, "", nil
}

// unescapedKey returns the key in a header. It removes the escaping, if the key was escaped.
func unescapedKey(key string) string {
	if plain, err := url.PathUnescape(key); err == nil {
		return plain
	}
	return key
}
