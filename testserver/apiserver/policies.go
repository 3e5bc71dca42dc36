package apiserver

import (
	"context"
	"errors"
	"fmt"
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

// validatingPolicies validate objects with the rules of those ValidatingAdmissionPolicies that have bindings.
type validatingPolicies struct {
	server *Server
	bound  boundPolicies[*compiledPolicy, *compiledBinding]
}

// compiledPolicy is a compiled policy. It is safe for concurrent use.
type compiledPolicy struct {
	*admissionv1.ValidatingAdmissionPolicy
	matching
	expressions func() (*policyExpressions, error)
}

type compiledBinding struct {
	*admissionv1.ValidatingAdmissionPolicyBinding
	matching
}

// policyExpressions are the compiled expressions of a policy.
type policyExpressions struct {
	conditions                         matchconditions.Matcher // may be nil
	validations, messages, annotations plugincel.ConditionEvaluator
}

func (s *Server) newPolicies() *validatingPolicies {
	return &validatingPolicies{server: s, bound: boundPolicies[*compiledPolicy, *compiledBinding]{
		policies: s.tableOf(builtin.PolicyKind()), bindings: s.tableOf(builtin.PolicyBindingKind()),
		newPolicy: func(object runtime.Object) *compiledPolicy {
			policy := object.(*admissionv1.ValidatingAdmissionPolicy)
			return &compiledPolicy{policy, newMatchingOf(policy.Spec.MatchConstraints),
				sync.OnceValues(func() (*policyExpressions, error) { return compilePolicy(policy) })}
		},
		newBinding: func(object runtime.Object) (string, *compiledBinding) {
			binding := object.(*admissionv1.ValidatingAdmissionPolicyBinding)
			return binding.Spec.PolicyName, &compiledBinding{binding, newMatchingOf(binding.Spec.MatchResources)}
		},
	}}
}

// boundPolicies are the stored policies of a kind P, and their bindings of a kind B. Each is compiled once.
type boundPolicies[P, B any] struct {
	policies, bindings *store.Table
	newPolicy          func(object runtime.Object) P
	newBinding         func(object runtime.Object) (policy string, binding B)

	mu       sync.Mutex
	compiled map[*store.Record]P
	bound    map[*store.Record]bound[B]
}

type bound[B any] struct {
	policy  string
	binding B
}

// all returns the policies, ordered by name, and the bindings of each policy.
func (p *boundPolicies[P, B]) all() (policies []P, bindings map[string][]B) {
	records, _, err := p.policies.List("/", "", 0)
	must.Do(err)
	binding, _, err := p.bindings.List("/", "", 0)
	must.Do(err)
	if len(records) == 0 || len(binding) == 0 {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.compiled, policies = kept(p.compiled, records, func(r *store.Record) P { return p.newPolicy(r.Object) })
	var all []bound[B]
	p.bound, all = kept(p.bound, binding, func(r *store.Record) bound[B] {
		policy, binding := p.newBinding(r.Object)
		return bound[B]{policy, binding}
	})
	bindings = map[string][]B{}
	for _, b := range all {
		bindings[b.policy] = append(bindings[b.policy], b.binding)
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

func storeVariables(compiler *plugincel.CompositedCompiler, given []admissionv1.Variable,
	variables plugincel.OptionalVariableDeclarations) {
	named := make([]plugincel.NamedExpressionAccessor, len(given))
	for i, v := range given {
		named[i] = &builtin.Variable{Expression: builtin.Expression{Text: v.Expression, Types: builtin.AnyTypes},
			Name: v.Name}
	}
	compiler.CompileAndStoreVariables(named, variables, environment.StoredExpressions)
}

// compileConditions returns a matcher for the conditions of a policy, or nil if there are none.
func compileConditions(compiler *plugincel.CompositedCompiler, given []admissionv1.MatchCondition,
	failure *admissionv1.FailurePolicyType, variables plugincel.OptionalVariableDeclarations,
	policy string) matchconditions.Matcher {
	if len(given) == 0 {
		return nil
	}
	conditions := expressionsOf(given, func(c admissionv1.MatchCondition) plugincel.ExpressionAccessor {
		return (*matchconditions.MatchCondition)(&c)
	})
	return matchconditions.NewMatcher(compiler.CompileCondition(conditions, variables, environment.StoredExpressions),
		failure, "policy", "validate", policy)
}

func compilePolicy(policy *admissionv1.ValidatingAdmissionPolicy) (*policyExpressions, error) {
	spec := &policy.Spec
	variables := plugincel.OptionalVariableDeclarations{HasParams: spec.ParamKind != nil, HasAuthorizer: true}
	messages := plugincel.OptionalVariableDeclarations{HasParams: spec.ParamKind != nil}
	compiler, err := plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		return nil, err
	}
	storeVariables(compiler, spec.Variables, variables)
	e := &policyExpressions{conditions: compileConditions(compiler, spec.MatchConditions, spec.FailurePolicy, variables,
		policy.Name)}
	e.validations = compiler.CompileCondition(expressionsOf(spec.Validations,
		func(v admissionv1.Validation) plugincel.ExpressionAccessor {
			return &builtin.Expression{Text: v.Expression, Types: builtin.BoolTypes}
		}), variables, environment.StoredExpressions)
	e.annotations = compiler.CompileCondition(expressionsOf(spec.AuditAnnotations,
		func(a admissionv1.AuditAnnotation) plugincel.ExpressionAccessor {
			return &builtin.Expression{Text: a.ValueExpression, Types: builtin.OptionalTypes}
		}), variables, environment.StoredExpressions)
	e.messages = compiler.CompileCondition(expressionsOf(spec.Validations,
		func(v admissionv1.Validation) plugincel.ExpressionAccessor {
			if v.MessageExpression == "" {
				return nil
			}
			return &builtin.Expression{Text: v.MessageExpression, Types: builtin.StringTypes}
		}), messages, environment.StoredExpressions)
	return e, nil
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
	err := admission.NewForbidden(a, errors.New(d.String()))
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		return err
	}
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
	attributes admission.Attributes
	interfaces admission.ObjectInterfaces
	versions   map[schema.GroupVersionKind]*admission.VersionedAttributes
	denials    []denial
}

func (p *validatingPolicies) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if exempt(a) {
		return nil
	}
	found, bindings := p.bound.all()
	e := &evaluation{p, a, o, map[schema.GroupVersionKind]*admission.VersionedAttributes{}, nil}
	for _, policy := range found {
		if len(bindings[policy.Name]) == 0 {
			continue
		}
		as, err := policy.matchAll(p.server, a, o)
		if err == nil && as != nil {
			err = p.server.knowsParams(policy.Spec.ParamKind)
		}
		if err != nil {
			e.misconfigured(policy, nil, err)
			continue
		}
		if as == nil {
			continue
		}
		for _, b := range bindings[policy.Name] {
			if err := e.bind(ctx, policy, b, as); err != nil {
				return err
			}
		}
	}
	if len(e.denials) == 0 {
		return nil
	}
	return e.denials[0].status(a)
}

// misconfigured records that a policy cannot be evaluated. This denies the request, unless the policy ignores failures.
func (e *evaluation) misconfigured(policy *compiledPolicy, b *compiledBinding, err error) {
	d := denial{policy: policy.Name, message: "failed to configure policy: " + err.Error()}
	if b != nil {
		d.binding, d.message = b.Name, "failed to configure binding: "+err.Error()
	}
	if policy.failure() == admissionv1.Fail {
		e.denials = append(e.denials, d)
	}
}

func (p *compiledPolicy) failure() admissionv1.FailurePolicyType {
	if p.Spec.FailurePolicy == nil {
		return admissionv1.Fail
	}
	return *p.Spec.FailurePolicy
}

// bind evaluates a policy with a binding, once for each parameter object.
func (e *evaluation) bind(ctx context.Context, policy *compiledPolicy, b *compiledBinding, as *subject) error {
	matches, err := b.matchAll(e.server, e.attributes, e.interfaces)
	if err != nil {
		e.misconfigured(policy, b, err)
		return nil
	}
	if matches == nil {
		return nil
	}
	params, err := e.server.params(ctx, policy.Spec.ParamKind, b.Spec.ParamRef, e.attributes.GetNamespace())
	if err != nil {
		e.misconfigured(policy, b, err)
		return nil
	}
	if len(params) == 0 {
		return nil
	}
	versioned := e.versions[as.kind]
	if versioned == nil {
		if versioned, err = admission.NewVersionedAttributes(e.attributes, as.kind, e.interfaces); err != nil {
			e.misconfigured(policy, b, fmt.Errorf("failed to convert object version: %w", err))
			return nil
		}
		e.versions[as.kind] = versioned
	}
	namespace, err := e.server.visibleNamespace(e.attributes)
	if err != nil {
		return err
	}
	for _, param := range params {
		e.act(ctx, b, policy.evaluate(ctx, e.server, as, versioned, param, namespace))
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
func (e *evaluation) act(ctx context.Context, b *compiledBinding, found verdict) {
	for _, d := range found.denials {
		d.policy, d.binding = b.Spec.PolicyName, b.Name
		if slices.Contains(b.Spec.ValidationActions, admissionv1.Deny) {
			e.denials = append(e.denials, d)
		}
		if slices.Contains(b.Spec.ValidationActions, admissionv1.Warn) {
			warning.AddWarning(ctx, "", fmt.Sprintf("Validation failed for ValidatingAdmissionPolicy '%s' with binding '%s': %s",
				d.policy, d.binding, d.message))
		}
	}
	for _, message := range found.annotationErrors { // independent of the actions
		e.denials = append(e.denials, denial{policy: b.Spec.PolicyName, binding: b.Name, message: message})
	}
}

// verdict is the result of the expressions of a policy.
type verdict struct {
	denials          []denial
	annotationErrors []string
}

// evaluate evaluates the expressions of a policy.
func (p *compiledPolicy) evaluate(ctx context.Context, s *Server, as *subject, a *admission.VersionedAttributes,
	param runtime.Object, namespace *corev1.Namespace) verdict {
	failed := func(err error) verdict {
		if p.failure() == admissionv1.Ignore {
			return verdict{}
		}
		return verdict{denials: []denial{{message: err.Error()}}}
	}
	compiled, err := p.expressions()
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
	request := plugincel.CreateAdmissionRequest(a.Attributes, metav1.GroupVersionResource(as.resource),
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
		validation := &p.Spec.Validations[i]
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
		if err := annotations[i].Error; err != nil && p.failure() != admissionv1.Ignore {
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
		return d.versions[kind.Version].objects
	}
	return nil
}

// builtinOf returns a built-in kind, or nil.
func builtinOf(gvk schema.GroupVersionKind) *kind {
	for _, kinds := range kindGroups() {
		for i := range kinds {
			if kinds[i].GVK == gvk {
				return &kinds[i]
			}
		}
	}
	return nil
}

// definitionOf returns the definition of a kind, or nil.
func (s *Server) definitionOf(kind schema.GroupVersionKind) *definition {
	for _, crd := range s.listDefinitions() {
		if crd.Spec.Group == kind.Group && crd.Status.AcceptedNames.Kind == kind.Kind {
			d, err := s.definition(crd)
			if err != nil {
				return nil
			}
			return d
		}
	}
	return nil
}
