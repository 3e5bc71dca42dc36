package apiserver

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"

	celtypes "github.com/google/cel-go/common/types"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/warning"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/builtin"
	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/store"
)

// policies are the stored policies of one kind, with compiled expressions E, and their bindings.
type policies[E any] struct {
	server             *Server
	policies, bindings *store.Table
	newPolicy          func(object runtime.Object) *policy[E]

	mu       sync.Mutex
	compiled map[*store.Record]*policy[E]
	bound    map[*store.Record]*binding
}

func (*policies[E]) Handles(admission.Operation) bool { return true }

// policy is a policy that is compiled once. It is safe for concurrent use.
type policy[E any] struct {
	matching
	name        string
	params      *admissionv1.ParamKind
	lenient     bool // failures of the policy are ignored
	reinvoked   bool // a MutatingAdmissionPolicy runs again if the object changes after it
	expressions func() (*E, error)
}

func newPolicy[E any](name string, match *admissionv1.MatchResources, params *admissionv1.ParamKind,
	failure *admissionv1.FailurePolicyType, compile func() (*E, error)) *policy[E] {
	return &policy[E]{matching: newMatchingOf(match), name: name, params: params,
		lenient: builtin.Deref(failure) == admissionv1.Ignore, expressions: sync.OnceValues(compile)}
}

// binding is a binding of a policy.
type binding struct {
	matching
	name, policy string
	params       *admissionv1.ParamRef
	actions      []admissionv1.ValidationAction // of a ValidatingAdmissionPolicy
}

func newBinding(object runtime.Object) *binding {
	if b, mutating := object.(*admissionv1.MutatingAdmissionPolicyBinding); mutating {
		return &binding{newMatchingOf(b.Spec.MatchResources), b.Name, b.Spec.PolicyName, b.Spec.ParamRef, nil}
	}
	b := object.(*admissionv1.ValidatingAdmissionPolicyBinding)
	return &binding{newMatchingOf(b.Spec.MatchResources), b.Name, b.Spec.PolicyName, b.Spec.ParamRef,
		b.Spec.ValidationActions}
}

// all returns the policies, ordered by name, and the bindings of each policy.
func (p *policies[E]) all() (policies []*policy[E], bindings map[string][]*binding) {
	records, _, err := p.policies.List("/", "", 0)
	must.Do(err)
	bound, _, err := p.bindings.List("/", "", 0)
	must.Do(err)
	if len(records) == 0 || len(bound) == 0 {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.compiled, policies = kept(p.compiled, records, func(r *store.Record) *policy[E] { return p.newPolicy(r.Object) })
	var all []*binding
	p.bound, all = kept(p.bound, bound, func(r *store.Record) *binding { return newBinding(r.Object) })
	bindings = map[string][]*binding{}
	for _, b := range all {
		bindings[b.policy] = append(bindings[b.policy], b)
	}
	return policies, bindings
}

// kept returns the values for records. It reuses the known values of records that have not changed.
func kept[T any](known map[*store.Record]T, records []*store.Record,
	newOf func(r *store.Record) T) (now map[*store.Record]T, all []T) {
	now = make(map[*store.Record]T, len(records))
	for _, r := range records {
		one, ok := known[r]
		if !ok {
			one = newOf(r)
		}
		now[r], all = one, append(all, one)
	}
	return now, all
}

// match is a policy that applies to an object, and a binding.
type match[E any] struct {
	policy  *policy[E]
	binding *binding
	as      *subject
}

// matches returns the policies that apply to an object. It calls fail for policies and bindings that are invalid;
// binding is nil if the policy is invalid.
func (p *policies[E]) matches(a admission.Attributes, o admission.ObjectInterfaces,
	fail func(policy *policy[E], binding *binding, err error)) iter.Seq[match[E]] {
	return func(yield func(match[E]) bool) {
		policies, bindings := p.all()
		for _, policy := range policies {
			if len(bindings[policy.name]) == 0 {
				continue
			}
			as, err := policy.matchAll(p.server, a, o)
			if err == nil && as != nil {
				err = p.server.knowsParams(policy.params)
			}
			if err != nil {
				fail(policy, nil, err)
				continue
			}
			if as == nil {
				continue
			}
			for _, b := range bindings[policy.name] {
				selected, err := b.matchAll(p.server, a, o)
				if err != nil {
					fail(policy, b, err)
				} else if selected != nil && !yield(match[E]{policy, b, as}) {
					return
				}
			}
		}
	}
}

// versions are the versions in which policies or webhooks review an object. Each is converted once.
type versions struct {
	attributes admission.Attributes
	interfaces admission.ObjectInterfaces
	known      map[schema.GroupVersionKind]*admission.VersionedAttributes
}

func newVersions(a admission.Attributes, o admission.ObjectInterfaces) versions {
	return versions{a, o, map[schema.GroupVersionKind]*admission.VersionedAttributes{}}
}

func (v versions) of(kind schema.GroupVersionKind) (*admission.VersionedAttributes, error) {
	if v.known[kind] == nil {
		versioned, err := admission.NewVersionedAttributes(v.attributes, kind, v.interfaces)
		if err != nil {
			return nil, err
		}
		v.known[kind] = versioned
	}
	return v.known[kind], nil
}

func newMatchingOf(match *admissionv1.MatchResources) matching {
	if match == nil {
		return newMatching(&metav1.LabelSelector{}, &metav1.LabelSelector{}, nil, nil)
	}
	m := newMatching(match.NamespaceSelector, match.ObjectSelector, match.MatchPolicy, match.ResourceRules)
	m.excluded = match.ExcludeResourceRules
	return m
}

// matchAll is like match, and also checks selectors and exclusions. Without rules, every object matches.
func (m *matching) matchAll(s *Server, a admission.Attributes, o admission.ObjectInterfaces) (*subject, error) {
	selected, selection := m.selected(s, a)
	if !selected {
		return nil, nil
	}
	if _, excluded, err := m.match(m.excluded, a, o); excluded || err != nil {
		return nil, err
	}
	found, ok, err := subject{a.GetKind(), a.GetResource()}, true, error(nil)
	if len(m.rules) > 0 {
		found, ok, err = m.match(m.rules, a, o)
	}
	switch {
	case err != nil || !ok:
		return nil, err
	case selection != nil:
		return nil, selection
	}
	return &found, nil
}

func expressionsOf[T any](values []T, text func(v T) plugincel.ExpressionAccessor) []plugincel.ExpressionAccessor {
	accessors := make([]plugincel.ExpressionAccessor, len(values))
	for i, v := range values {
		accessors[i] = text(v)
	}
	return accessors
}

// newPolicyCompiler returns a compiler for the expressions of a policy that has variables.
func newPolicyCompiler(given []admissionv1.Variable,
	declared plugincel.OptionalVariableDeclarations) (*plugincel.CompositedCompiler, error) {
	compiler, err := plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		return nil, err
	}
	named := make([]plugincel.NamedExpressionAccessor, len(given))
	for i, v := range given {
		named[i] = &builtin.Variable{Expression: builtin.Expression{Text: v.Expression, Types: builtin.AnyTypes},
			Name: v.Name}
	}
	compiler.CompileAndStoreVariables(named, declared, environment.StoredExpressions)
	return compiler, nil
}

// compileConditions returns a matcher for the conditions of a policy or webhook, or nil if there are none.
func compileConditions(compiler plugincel.ConditionCompiler, given []admissionv1.MatchCondition,
	failure *admissionv1.FailurePolicyType, variables plugincel.OptionalVariableDeclarations,
	kind, phase, name string) matchconditions.Matcher {
	if len(given) == 0 {
		return nil
	}
	conditions := expressionsOf(given, func(c admissionv1.MatchCondition) plugincel.ExpressionAccessor {
		return (*matchconditions.MatchCondition)(&c)
	})
	return matchconditions.NewMatcher(compiler.CompileCondition(conditions, variables, environment.StoredExpressions),
		failure, kind, phase, name)
}

// validatingPolicies validate objects with the rules of those ValidatingAdmissionPolicies that have bindings.
type validatingPolicies struct{ policies[validations] }

// validations are the compiled expressions of a policy.
type validations struct {
	spec                               *admissionv1.ValidatingAdmissionPolicySpec
	conditions                         matchconditions.Matcher // may be nil
	validations, messages, annotations plugincel.ConditionEvaluator
}

func (s *Server) newPolicies() *validatingPolicies {
	return &validatingPolicies{policies[validations]{
		server: s, policies: s.tableOf(builtin.PolicyKind()), bindings: s.tableOf(builtin.PolicyBindingKind()),
		newPolicy: func(object runtime.Object) *policy[validations] {
			policy := object.(*admissionv1.ValidatingAdmissionPolicy)
			return newPolicy(policy.Name, policy.Spec.MatchConstraints, policy.Spec.ParamKind, policy.Spec.FailurePolicy,
				func() (*validations, error) { return compilePolicy(policy) })
		},
	}}
}

func compilePolicy(policy *admissionv1.ValidatingAdmissionPolicy) (*validations, error) {
	spec := &policy.Spec
	variables := plugincel.OptionalVariableDeclarations{HasParams: spec.ParamKind != nil, HasAuthorizer: true}
	messages := plugincel.OptionalVariableDeclarations{HasParams: spec.ParamKind != nil}
	compiler, err := newPolicyCompiler(spec.Variables, variables)
	if err != nil {
		return nil, err
	}
	v := &validations{spec: spec, conditions: compileConditions(compiler, spec.MatchConditions, spec.FailurePolicy,
		variables, "policy", "validate", policy.Name)}
	v.validations = compiler.CompileCondition(expressionsOf(spec.Validations,
		func(v admissionv1.Validation) plugincel.ExpressionAccessor {
			return &builtin.Expression{Text: v.Expression, Types: builtin.BoolTypes}
		}), variables, environment.StoredExpressions)
	v.annotations = compiler.CompileCondition(expressionsOf(spec.AuditAnnotations,
		func(a admissionv1.AuditAnnotation) plugincel.ExpressionAccessor {
			return &builtin.Expression{Text: a.ValueExpression, Types: builtin.OptionalTypes}
		}), variables, environment.StoredExpressions)
	v.messages = compiler.CompileCondition(expressionsOf(spec.Validations,
		func(v admissionv1.Validation) plugincel.ExpressionAccessor {
			if v.MessageExpression == "" {
				return nil
			}
			return &builtin.Expression{Text: v.MessageExpression, Types: builtin.StringTypes}
		}), messages, environment.StoredExpressions)
	return v, nil
}

// denial is the reason for which a policy denies an object.
type denial struct {
	policy, binding string // if binding is empty, the policy could not be evaluated
	message         string
	reason          metav1.StatusReason
}

func (d denial) String() string {
	if d.binding == "" {
		return fmt.Sprintf("ValidatingAdmissionPolicy '%s' denied request: %s", d.policy, d.message)
	}
	return fmt.Sprintf("ValidatingAdmissionPolicy '%s' with binding '%s' denied request: %s", d.policy, d.binding,
		d.message)
}

// status returns the error for the client.
func (d denial) status(a admission.Attributes) error {
	status := forbidden(a, d.String())
	reason, code := d.reason, int32(http.StatusUnprocessableEntity)
	switch reason {
	case "":
		reason = metav1.StatusReasonInvalid
	case metav1.StatusReasonForbidden:
		code = http.StatusForbidden
	case metav1.StatusReasonUnauthorized:
		code = http.StatusUnauthorized
	case metav1.StatusReasonRequestEntityTooLarge:
		code = http.StatusRequestEntityTooLarge
	}
	status.ErrStatus.Reason, status.ErrStatus.Code = reason, code
	status.ErrStatus.Details.Causes = append(status.ErrStatus.Details.Causes, metav1.StatusCause{Message: d.String()})
	return status
}

// evaluation is the evaluation of all policies for one object.
type evaluation struct {
	*validatingPolicies
	versions
	denials []denial
}

func (p *validatingPolicies) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if exempt(a) {
		return nil
	}
	e := &evaluation{p, newVersions(a, o), nil}
	for m := range p.matches(a, o, e.misconfigured) {
		if err := e.bind(ctx, m); err != nil {
			return err
		}
	}
	if len(e.denials) == 0 {
		return nil
	}
	return e.denials[0].status(a)
}

// misconfigured records that a policy cannot be evaluated. This denies the request, unless the policy ignores failures.
func (e *evaluation) misconfigured(policy *policy[validations], b *binding, err error) {
	d := denial{policy: policy.name, message: "failed to configure policy: " + err.Error()}
	if b != nil {
		d.binding, d.message = b.name, "failed to configure binding: "+err.Error()
	}
	if !policy.lenient {
		e.denials = append(e.denials, d)
	}
}

// bind evaluates a policy with a binding, once for each parameter object.
func (e *evaluation) bind(ctx context.Context, m match[validations]) error {
	params, err := e.server.params(ctx, m.policy.params, m.binding.params, e.attributes.GetNamespace())
	if err != nil {
		e.misconfigured(m.policy, m.binding, err)
		return nil
	}
	if len(params) == 0 {
		return nil
	}
	versioned, err := e.of(m.as.kind)
	if err != nil {
		e.misconfigured(m.policy, m.binding, fmt.Errorf("failed to convert object version: %w", err))
		return nil
	}
	namespace, err := e.server.visibleNamespace(e.attributes)
	if err != nil {
		return err
	}
	for _, param := range params {
		e.act(ctx, m.binding, evaluate(ctx, e.server, m, versioned, param, namespace))
	}
	return nil
}

// visibleNamespace returns the namespace of an object for expressions, or nil.
func (s *Server) visibleNamespace(a admission.Attributes) (*corev1.Namespace, error) {
	name := a.GetNamespace()
	if name == "" || a.GetKind() == namespaceKind {
		return nil, nil
	}
	namespace := s.namespace(name)
	if namespace == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, name)
	}
	return namespace, nil
}

// act performs the actions of a binding for denials.
func (e *evaluation) act(ctx context.Context, b *binding, found verdict) {
	for _, d := range found.denials {
		d.policy, d.binding = b.policy, b.name
		if slices.Contains(b.actions, admissionv1.Deny) {
			e.denials = append(e.denials, d)
		}
		if slices.Contains(b.actions, admissionv1.Warn) {
			warning.AddWarning(ctx, "", fmt.Sprintf("Validation failed for ValidatingAdmissionPolicy '%s' with binding '%s': %s",
				d.policy, d.binding, d.message))
		}
	}
	for _, message := range found.annotationErrors { // independent of the actions
		e.denials = append(e.denials, denial{policy: b.policy, binding: b.name, message: message})
	}
}

// verdict is the result of the expressions of a policy.
type verdict struct {
	denials          []denial
	annotationErrors []string
}

// evaluate evaluates the expressions of a policy.
func evaluate(ctx context.Context, s *Server, m match[validations], a *admission.VersionedAttributes,
	param runtime.Object, namespace *corev1.Namespace) verdict {
	failed := func(err error) verdict {
		if m.policy.lenient {
			return verdict{}
		}
		return verdict{denials: []denial{{message: err.Error()}}}
	}
	compiled, err := m.policy.expressions()
	if err != nil {
		return failed(err)
	}
	if compiled.conditions != nil {
		switch result := compiled.conditions.Match(ctx, a, param, s.authorizer); {
		case result.Error != nil:
			return failed(result.Error)
		case !result.Matches:
			return verdict{}
		}
	}
	request := plugincel.CreateAdmissionRequest(a.Attributes, metav1.GroupVersionResource(m.as.resource),
		metav1.GroupVersionKind(a.VersionedKind))
	visible, without := plugincel.CreateNamespaceObject(namespace),
		plugincel.OptionalVariableBindings{VersionedParams: param}
	with := plugincel.OptionalVariableBindings{VersionedParams: param, Authorizer: s.authorizer}
	results, left, err := compiled.validations.ForInput(ctx, a, request, with, visible, celconfig.RuntimeCELCostBudget)
	if err != nil {
		return failed(err)
	}
	messages, _, messagesErr := compiled.messages.ForInput(ctx, a, request, without, visible, left)
	var found verdict
	for i := range results {
		validation := &compiled.spec.Validations[i]
		switch unusable := errors.Is(messagesErr, apiservercel.ErrInternal) ||
			errors.Is(messagesErr, apiservercel.ErrOutOfBudget); {
		case results[i].Error != nil:
			found.denials = append(found.denials, failed(results[i].Error).denials...)
		case unusable:
			found.denials = append(found.denials, failed(fmt.Errorf("failed messageExpression: %w", messagesErr)).denials...)
		case results[i].EvalResult != celtypes.True:
			d := denial{message: message(validation, messages, i), reason: metav1.StatusReasonInvalid}
			if validation.Reason != nil {
				d.reason = *validation.Reason
			}
			found.denials = append(found.denials, d)
		}
	}
	annotations, _, err := compiled.annotations.ForInput(ctx, a, request, without, namespace,
		celconfig.RuntimeCELCostBudget)
	if err != nil {
		return failed(err)
	}
	for i := range annotations {
		if err := annotations[i].Error; err != nil && !m.policy.lenient {
			found.annotationErrors = append(found.annotationErrors, err.Error())
		}
	}
	return found
}

// message returns the message of a failed validation. This is the result of the message expression if it has one line,
// or else the message of the validation, or else its expression.
func message(validation *admissionv1.Validation, results []plugincel.EvaluationResult, i int) string {
	if i < len(results) && results[i].Error == nil && results[i].EvalResult != nil {
		text, _ := results[i].EvalResult.Value().(string)
		text = strings.TrimSpace(text)
		if text != "" && len(text) <= celconfig.MaxEvaluatedMessageExpressionSizeBytes && !strings.Contains(text, "\n") {
			return text
		}
	}
	if text := strings.TrimSpace(validation.Message); text != "" {
		return text
	}
	return "failed expression: " + strings.TrimSpace(validation.Expression)
}

// knowsParams returns an error if the server does not have the kind of the parameters.
func (s *Server) knowsParams(kind *admissionv1.ParamKind) error {
	if kind == nil {
		return nil
	}
	gv, err := schema.ParseGroupVersion(kind.APIVersion)
	if err == nil && s.registryOf(gv.WithKind(kind.Kind)) == nil {
		err = fmt.Errorf("failed to find resource referenced by paramKind: '%v'", gv.WithKind(kind.Kind))
	}
	return err
}

// params returns the parameter objects of a binding. Their kind must exist. A nil object means no parameter.
func (s *Server) params(ctx context.Context, kind *admissionv1.ParamKind, ref *admissionv1.ParamRef,
	namespace string) ([]runtime.Object, error) {
	if kind == nil || ref == nil {
		return []runtime.Object{nil}, nil
	}
	gv, err := schema.ParseGroupVersion(kind.APIVersion)
	if err != nil {
		return nil, err
	}
	objects := s.registryOf(gv.WithKind(kind.Kind))
	switch {
	case !objects.NamespaceScoped() && ref.Namespace != "":
		return nil, errors.New("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
	case !objects.NamespaceScoped():
		namespace = ""
	case ref.Namespace != "":
		namespace = ref.Namespace
	case namespace == "":
		return nil, errors.New("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
	}
	selector := labels.Nothing()
	if ref.Selector != nil {
		if selector, err = metav1.LabelSelectorAsSelector(ref.Selector); err != nil {
			return nil, err
		}
	}
	found, err := objects.named(namespace, ref.Name, selector)
	if err == nil && len(found) == 0 && ref.ParameterNotFoundAction != nil &&
		*ref.ParameterNotFoundAction == admissionv1.DenyAction {
		err = errors.New("no params found for policy binding with `Deny` parameterNotFoundAction")
	}
	for _, object := range found {
		object.GetObjectKind().SetGroupVersionKind(gv.WithKind(kind.Kind))
	}
	return found, err
}

// named returns the objects with a name in a namespace. If the name is empty, it returns the objects that a selector
// selects.
func (r *registry) named(namespace, name string, selector labels.Selector) (found []runtime.Object, err error) {
	prefix := r.prefix + "/"
	if namespace != "" {
		prefix += namespace + "/"
	}
	records, _, err := r.table.List(prefix, "", 0)
	if err != nil {
		return nil, err
	}
	for _, one := range records {
		accessor := must.Access(one.Object)
		if name != "" && accessor.GetName() != name || name == "" && !selector.Matches(labels.Set(accessor.GetLabels())) {
			continue
		}
		object, err := r.own(one)
		if err != nil {
			return nil, err
		}
		found = append(found, object)
	}
	return found, nil
}

// registryOf returns the registry of a kind in a version, or nil.
func (s *Server) registryOf(kind schema.GroupVersionKind) *registry {
	if k := builtinOf(kind); k != nil {
		return s.endpointOf(kind.GroupVersion().WithResource(k.Resource)).registry
	}
	if d := s.definitionOf(kind); d != nil && d.versions[kind.Version] != nil {
		return d.versions[kind.Version].registry
	}
	return nil
}

// builtinOf returns a built-in kind, or nil.
func builtinOf(gvk schema.GroupVersionKind) *kind {
	for _, k := range builtinKinds() {
		if k.GVK == gvk {
			return k
		}
	}
	return nil
}

// definitionOf returns the definition of a kind, or nil.
func (s *Server) definitionOf(kind schema.GroupVersionKind) *definition {
	for _, crd := range s.listDefinitions() {
		if crd.Spec.Group == kind.Group && crd.Status.AcceptedNames.Kind == kind.Kind {
			d, _ := s.definition(crd) // nil if it fails
			return d
		}
	}
	return nil
}
