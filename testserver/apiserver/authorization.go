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
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/builtin"
	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/store"
)

// rbacKinds are those of rbac.authorization.k8s.io/v1.
func rbacKinds() []kind {
	return []kind{
		{Kind: builtin.ClusterRoleBindingKind, complete: completeBinding(builtin.ClusterRoleBindingOf)},
		{Kind: builtin.ClusterRoleKind, complete: completeRole(func(object runtime.Object) ([]rbacv1.PolicyRule, *rbacv1.AggregationRule) {
			return object.(*rbacv1.ClusterRole).Rules, object.(*rbacv1.ClusterRole).AggregationRule
		})},
		{Kind: builtin.RoleBindingKind, complete: completeBinding(builtin.RoleBindingOf)},
		{Kind: builtin.RoleKind, complete: completeRole(func(object runtime.Object) ([]rbacv1.PolicyRule, *rbacv1.AggregationRule) {
			return object.(*rbacv1.Role).Rules, nil
		})},
	}
}

// roleAuthorizer allows what the roles in the server allow, and everything to system:masters.
type roleAuthorizer struct {
	roles, bindings, clusterRoles, clusterBindings *store.Table
}

func (s *Server) newAuthorizer() *roleAuthorizer {
	return &roleAuthorizer{s.tableOf(builtin.RoleKind), s.tableOf(builtin.RoleBindingKind), s.tableOf(builtin.ClusterRoleKind), s.tableOf(builtin.ClusterRoleBindingKind)}
}

func (a *roleAuthorizer) Authorize(_ context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	if isMaster(attributes.GetUser()) {
		return authorizer.DecisionAllow, "", nil
	}
	var reason string
	var problems []error
	a.visit(attributes.GetUser(), attributes.GetNamespace(), func(source string, rule *rbacv1.PolicyRule, err error) bool {
		if err != nil {
			problems = append(problems, err)
		} else if allows(rule, attributes) {
			reason = "RBAC: allowed by " + source
		}
		return reason == ""
	})
	if reason != "" {
		return authorizer.DecisionAllow, reason, nil
	}
	if len(problems) > 0 {
		reason = fmt.Sprintf("rbac: RBAC: %v", utilerrors.NewAggregate(problems))
	}
	return authorizer.DecisionNoOpinion, reason, nil
}

// ConditionsAwareAuthorize decides the same: there are no conditions.
func (a *roleAuthorizer) ConditionsAwareAuthorize(ctx context.Context, attributes authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(a.Authorize(ctx, attributes))
}

// EvaluateConditions is never asked.
func (*roleAuthorizer) EvaluateConditions(context.Context, authorizer.ConditionsAwareDecision, authorizer.ConditionsData) (authorizer.Decision, string, error) {
	return authorizer.DecisionDeny, "", authorizer.ErrorConditionEvaluationNotSupported
}

func isMaster(who user.Info) bool {
	return slices.Contains(who.GetGroups(), user.SystemPrivilegedGroup)
}

// visit calls visitor with each rule that a user has in a namespace, and who gives it, until that returns false.
func (a *roleAuthorizer) visit(who user.Info, namespace string, visitor func(source string, rule *rbacv1.PolicyRule, err error) bool) {
	visitRules := func(describe func(s *rbacv1.Subject) string, role rbacv1.RoleRef, subjects []rbacv1.Subject, in string) bool {
		at := slices.IndexFunc(subjects, func(s rbacv1.Subject) bool { return applies(s, who, in) })
		if at < 0 {
			return true
		}
		rules, err := a.rules(role, in)
		if err != nil {
			return visitor("", nil, err)
		}
		for i := range rules {
			if !visitor(describe(&subjects[at]), &rules[i], nil) {
				return false
			}
		}
		return true
	}
	for _, record := range a.clusterBindings.All("/registry/" + rbacv1.GroupName + "/clusterrolebindings/") {
		b := record.Object.(*rbacv1.ClusterRoleBinding)
		describe := func(s *rbacv1.Subject) string {
			return fmt.Sprintf("ClusterRoleBinding %q of %s %q to %s", b.Name, b.RoleRef.Kind, b.RoleRef.Name, describeSubject(s, ""))
		}
		if !visitRules(describe, b.RoleRef, b.Subjects, "") {
			return
		}
	}
	if namespace == "" {
		return
	}
	for _, record := range a.bindings.All("/registry/" + rbacv1.GroupName + "/rolebindings/" + namespace + "/") {
		b := record.Object.(*rbacv1.RoleBinding)
		describe := func(s *rbacv1.Subject) string {
			return fmt.Sprintf("RoleBinding %q of %s %q to %s", b.Name+"/"+b.Namespace, b.RoleRef.Kind, b.RoleRef.Name, describeSubject(s, b.Namespace))
		}
		if !visitRules(describe, b.RoleRef, b.Subjects, namespace) {
			return
		}
	}
}

func describeSubject(s *rbacv1.Subject, namespace string) string {
	if s.Kind != rbacv1.ServiceAccountKind {
		return fmt.Sprintf("%s %q", s.Kind, s.Name)
	}
	if s.Namespace != "" {
		namespace = s.Namespace
	}
	return fmt.Sprintf("%s %q", s.Kind, s.Name+"/"+namespace)
}

func applies(s rbacv1.Subject, who user.Info, namespace string) bool {
	switch s.Kind {
	case rbacv1.UserKind:
		return who.GetName() == s.Name
	case rbacv1.GroupKind:
		return slices.Contains(who.GetGroups(), s.Name)
	case rbacv1.ServiceAccountKind:
		if s.Namespace != "" {
			namespace = s.Namespace
		}
		return namespace != "" && serviceaccount.MatchesUsername(namespace, s.Name, who.GetName())
	}
	return false
}

// rules are those of a role to which a binding in a namespace refers.
func (a *roleAuthorizer) rules(role rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	switch role.Kind {
	case "Role":
		if record := a.roles.Get("/registry/" + rbacv1.GroupName + "/roles/" + namespace + "/" + role.Name); record != nil {
			return record.Object.(*rbacv1.Role).Rules, nil
		}
	case "ClusterRole":
		if record := a.clusterRoles.Get("/registry/" + rbacv1.GroupName + "/clusterroles/" + role.Name); record != nil {
			return record.Object.(*rbacv1.ClusterRole).Rules, nil
		}
	default:
		return nil, fmt.Errorf("unsupported role reference kind: %q", role.Kind)
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: rbacv1.GroupName, Resource: strings.ToLower(role.Kind)}, role.Name)
}

// allRules are those that a user has in a namespace, and what is wrong with them.
func (a *roleAuthorizer) allRules(who user.Info, namespace string) (rules []rbacv1.PolicyRule, problems []error) {
	a.visit(who, namespace, func(_ string, rule *rbacv1.PolicyRule, err error) bool {
		if err != nil {
			problems = append(problems, err)
		} else {
			rules = append(rules, *rule)
		}
		return true
	})
	return rules, problems
}

// allows reports whether a rule allows a request.
func allows(rule *rbacv1.PolicyRule, a authorizer.Attributes) bool {
	if !hasOrAll(rule.Verbs, a.GetVerb()) {
		return false
	}
	if !a.IsResourceRequest() {
		return slices.ContainsFunc(rule.NonResourceURLs, func(owned string) bool { return coversURL(owned, a.GetPath()) })
	}
	resource := a.GetResource()
	if a.GetSubresource() != "" {
		resource += "/" + a.GetSubresource()
	}
	allowed := hasOrAll(rule.Resources, resource) || a.GetSubresource() != "" && slices.Contains(rule.Resources, "*/"+a.GetSubresource())
	return allowed && hasOrAll(rule.APIGroups, a.GetAPIGroup()) && (len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, a.GetName()))
}

func hasOrAll(values []string, value string) bool {
	return slices.Contains(values, "*") || slices.Contains(values, value)
}

func coversURL(owned, asked string) bool {
	return owned == asked || strings.HasSuffix(owned, "*") && strings.HasPrefix(asked, strings.TrimRight(owned, "*"))
}

// attributesOf are those of a request.
func attributesOf(ctx context.Context, info *request.RequestInfo) authorizer.AttributesRecord {
	who, _ := request.UserFrom(ctx)
	a := authorizer.AttributesRecord{
		User: who, ResourceRequest: info.IsResourceRequest, Path: info.Path, Verb: info.Verb, APIGroup: info.APIGroup, APIVersion: info.APIVersion,
		Resource: info.Resource, Subresource: info.Subresource, Namespace: info.Namespace, Name: info.Name,
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

// Nobody may give others rights that he does not have, unless he may escalate, or bind the role.

// heldRights checks writes of roles or bindings by what the writer may do himself.
type heldRights struct {
	*registry
	check func(ctx context.Context, object, old runtime.Object) error // old is nil at the creation
}

func (h *heldRights) Create(ctx context.Context, object runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	if err := h.check(ctx, object, nil); err != nil {
		return nil, err
	}
	return h.registry.Create(ctx, object, validate, options)
}

func (h *heldRights) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, validateCreation rest.ValidateObjectFunc,
	validateUpdate rest.ValidateObjectUpdateFunc, mayCreate bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	info = rest.WrapUpdatedObjectInfo(info, func(ctx context.Context, object, old runtime.Object) (runtime.Object, error) {
		if onlyCollected(object, old) {
			return object, nil
		}
		return object, h.check(ctx, object, old)
	})
	return h.registry.Update(ctx, name, info, validateCreation, validateUpdate, mayCreate, options)
}

// onlyCollected reports whether an update changes only what a garbage collector changes.
func onlyCollected(object, old runtime.Object) bool {
	if must.Access(old).GetResourceVersion() == "" {
		return false
	}
	copied := object.DeepCopyObject()
	now, was := must.Access(copied), must.Access(old)
	now.SetOwnerReferences(was.GetOwnerReferences())
	now.SetFinalizers(was.GetFinalizers())
	now.SetManagedFields(was.GetManagedFields())
	return equality.Semantic.DeepEqual(copied, old)
}

func completeRole(rulesOf func(object runtime.Object) ([]rbacv1.PolicyRule, *rbacv1.AggregationRule)) func(s *Server, r *registry, e *endpoint) {
	return func(s *Server, r *registry, e *endpoint) {
		e.objects = &heldRights{r, func(ctx context.Context, object, old runtime.Object) error {
			if s.mayEscalate(ctx) {
				return nil
			}
			rules, aggregation := rulesOf(object)
			name, resource := must.Access(object).GetName(), schema.GroupResource{Group: rbacv1.GroupName, Resource: r.resource.Resource}
			if err := s.holds(ctx, rules); err != nil {
				return apierrors.NewForbidden(resource, name, err)
			}
			aggregates := aggregation != nil && len(aggregation.ClusterRoleSelectors) > 0
			if old != nil {
				_, before := rulesOf(old)
				aggregates = aggregates || before != nil && len(before.ClusterRoleSelectors) > 0
			}
			if aggregates && s.holds(ctx, everyRight) != nil {
				return apierrors.NewForbidden(resource, name, errors.New("must have cluster-admin privileges to use the aggregationRule"))
			}
			return nil
		}}
	}
}

func completeBinding(of func(object runtime.Object) builtin.Binding) func(s *Server, r *registry, e *endpoint) {
	return func(s *Server, r *registry, e *endpoint) {
		e.objects = &heldRights{r, func(ctx context.Context, object, _ runtime.Object) error {
			role, namespace := of(object).Role, request.NamespaceValue(ctx)
			if who, ok := request.UserFrom(ctx); !ok || isMaster(who) || s.mayBind(ctx, role, namespace) {
				return nil
			}
			rules, err := s.roles.rules(role, namespace)
			if apierrors.IsNotFound(err) {
				return apierrors.NewNotFound(r.qualified(ctx), role.Name)
			}
			if err != nil {
				return err
			}
			if err := s.holds(ctx, rules); err != nil {
				return apierrors.NewForbidden(schema.GroupResource{Group: rbacv1.GroupName, Resource: r.resource.Resource}, must.Access(object).GetName(), err)
			}
			return nil
		}}
	}
}

var everyRight = []rbacv1.PolicyRule{
	{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
	{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}},
}

func (s *Server) mayEscalate(ctx context.Context) bool {
	who, ok := request.UserFrom(ctx)
	info, known := request.RequestInfoFrom(ctx)
	if !ok || !known {
		return true // the server itself
	}
	decision, _, _ := s.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: who, Verb: "escalate", APIGroup: info.APIGroup, APIVersion: "*", Resource: info.Resource, Name: info.Name, Namespace: info.Namespace, ResourceRequest: true,
	})
	return decision == authorizer.DecisionAllow
}

func (s *Server) mayBind(ctx context.Context, role rbacv1.RoleRef, namespace string) bool {
	who, _ := request.UserFrom(ctx)
	resource := map[string]string{"Role": "roles", "ClusterRole": "clusterroles"}[role.Kind]
	if resource == "" {
		return false
	}
	decision, _, _ := s.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: who, Verb: "bind", APIGroup: role.APIGroup, APIVersion: "*", Resource: resource, Name: role.Name, Namespace: namespace, ResourceRequest: true,
	})
	return decision == authorizer.DecisionAllow
}

// holds returns an error unless the user of a request has all the rights himself.
func (s *Server) holds(ctx context.Context, rules []rbacv1.PolicyRule) error {
	who, ok := request.UserFrom(ctx)
	if !ok {
		return errors.New("no user on context")
	}
	held, problems := s.roles.allRules(who, request.NamespaceValue(ctx))
	var missing []rbacv1.PolicyRule
	for _, rule := range rules {
		for _, single := range singleRules(rule) {
			if !slices.ContainsFunc(held, func(owned rbacv1.PolicyRule) bool { return covers(&owned, &single) }) {
				missing = append(missing, single)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	message := fmt.Sprintf("user %q (groups=%q) is attempting to grant RBAC permissions not currently held:\n%s", who.GetName(), who.GetGroups(), strings.Join(described(missing), "\n"))
	if len(problems) > 0 {
		message += fmt.Sprintf("; resolution errors: %v", []error{utilerrors.NewAggregate(problems)})
	}
	return errors.New(message)
}

// singleRules are a rule in parts that have one verb, and one resource and name, or one URL.
func singleRules(rule rbacv1.PolicyRule) (single []rbacv1.PolicyRule) {
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				one := rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{verb}}
				if len(rule.ResourceNames) == 0 {
					single = append(single, one)
				}
				for _, name := range rule.ResourceNames {
					named := one
					named.ResourceNames = []string{name}
					single = append(single, named)
				}
			}
		}
	}
	for _, path := range rule.NonResourceURLs {
		for _, verb := range rule.Verbs {
			single = append(single, rbacv1.PolicyRule{NonResourceURLs: []string{path}, Verbs: []string{verb}})
		}
	}
	return single
}

// covers reports whether a rule gives all that another one, with at most one of each, gives.
func covers(owned, single *rbacv1.PolicyRule) bool {
	all := func(owned, wanted []string, covered func(owned, wanted string) bool) bool {
		return !slices.ContainsFunc(wanted, func(want string) bool {
			return !slices.ContainsFunc(owned, func(own string) bool { return covered(own, want) })
		})
	}
	equalOrAll := func(own, want string) bool { return own == "*" || own == want }
	resource := func(own, want string) bool {
		_, part, sub := strings.Cut(want, "/")
		return equalOrAll(own, want) || sub && own == "*/"+part
	}
	names := len(owned.ResourceNames) == 0 || len(single.ResourceNames) > 0 && all(owned.ResourceNames, single.ResourceNames, func(own, want string) bool { return own == want })
	return names && all(owned.Verbs, single.Verbs, equalOrAll) && all(owned.APIGroups, single.APIGroups, equalOrAll) &&
		all(owned.Resources, single.Resources, resource) && all(owned.NonResourceURLs, single.NonResourceURLs, coversURL)
}

// described are rules as text, with the verbs of a resource together.
func described(rules []rbacv1.PolicyRule) []string {
	together, texts := map[string]*rbacv1.PolicyRule{}, map[string]bool{}
	for i := range rules {
		rule := &rules[i]
		if len(rule.NonResourceURLs) > 0 {
			texts[describeRule(rule)] = true
			continue
		}
		key := fmt.Sprintf("%q %q %q", rule.APIGroups, rule.Resources, rule.ResourceNames)
		if known := together[key]; known != nil {
			known.Verbs = append(known.Verbs, rule.Verbs...)
		} else {
			together[key] = rule.DeepCopy()
		}
	}
	for _, rule := range together {
		texts[describeRule(rule)] = true
	}
	return slices.Sorted(maps.Keys(texts))
}

func describeRule(rule *rbacv1.PolicyRule) string {
	var parts []string
	for _, part := range []struct {
		name   string
		values []string
	}{{"APIGroups", rule.APIGroups}, {"Resources", rule.Resources}, {"NonResourceURLs", rule.NonResourceURLs}, {"ResourceNames", rule.ResourceNames}, {"Verbs", rule.Verbs}} {
		if len(part.values) > 0 {
			parts = append(parts, fmt.Sprintf("%s:%q", part.name, part.values))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// firstRoles are those that a server has from the start, of those of the real one: what everybody may, and who may everything.
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

// addFirstRoles puts those that are not there into the store as they are, which takes no endpoint unless they are kept.
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
		if _, err := t.Put("/registry/"+rbacv1.GroupName+"/"+resource+"/"+accessor.GetName(), nil, &store.Record{Object: object}); err != nil {
			return err
		}
	}
	return nil
}

// impersonated is the user whose rights a request is to have: the headers say so. The one that it is from has to be allowed to.
func (s *Server) impersonated(ctx context.Context, header http.Header, who user.Info) (user.Info, *authorizer.AttributesRecord, string, error) {
	name, groups, uid := header.Get("Impersonate-User"), slices.Clone(header["Impersonate-Group"]), header.Get("Impersonate-Uid")
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
			asked = append(asked, authorizer.AttributesRecord{APIGroup: "authentication.k8s.io", APIVersion: "v1", Resource: "userextras", Subresource: key, Name: value})
		}
	}
	if uid != "" {
		asked = append(asked, authorizer.AttributesRecord{APIGroup: "authentication.k8s.io", APIVersion: "v1", Resource: "uids", Name: uid})
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

// unescapedKey is a key as it was before it was escaped for a header, if it was.
func unescapedKey(key string) string {
	if plain, err := url.PathUnescape(key); err == nil {
		return plain
	}
	return key
}
