package apiserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/builtin"
	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
)

// mutatingPolicies change objects with the expressions of those MutatingAdmissionPolicies that have bindings.
type mutatingPolicies struct {
	server *Server
	bound  boundPolicies[*compiledMutations, *mutatingBinding]
}

// compiledMutations is a compiled policy. It is safe for concurrent use.
type compiledMutations struct {
	*admissionv1.MutatingAdmissionPolicy
	matching
	expressions func() (*mutations, error)
}

type mutatingBinding struct {
	*admissionv1.MutatingAdmissionPolicyBinding
	matching
}

// mutations are the compiled expressions of a policy.
type mutations struct {
	compiler   *plugincel.CompositedCompiler
	conditions matchconditions.Matcher // may be nil
	patchers   []patch.Patcher
}

func (s *Server) newMutatingPolicies() *mutatingPolicies {
	return &mutatingPolicies{server: s, bound: boundPolicies[*compiledMutations, *mutatingBinding]{
		policies: s.tableOf(builtin.MutatingPolicyKind()), bindings: s.tableOf(builtin.MutatingBindingKind()),
		newPolicy: func(object runtime.Object) *compiledMutations {
			policy := object.(*admissionv1.MutatingAdmissionPolicy)
			return &compiledMutations{policy, newMatchingOf(policy.Spec.MatchConstraints),
				sync.OnceValues(func() (*mutations, error) { return compileMutations(policy) })}
		},
		newBinding: func(object runtime.Object) (string, *mutatingBinding) {
			binding := object.(*admissionv1.MutatingAdmissionPolicyBinding)
			return binding.Spec.PolicyName, &mutatingBinding{binding, newMatchingOf(binding.Spec.MatchResources)}
		},
	}}
}

func compileMutations(policy *admissionv1.MutatingAdmissionPolicy) (*mutations, error) {
	spec := &policy.Spec
	variables := plugincel.OptionalVariableDeclarations{HasParams: spec.ParamKind != nil, HasAuthorizer: true}
	compiler, err := plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		return nil, err
	}
	storeVariables(compiler, spec.Variables, variables)
	m := &mutations{compiler: compiler, conditions: compileConditions(compiler, spec.MatchConditions, spec.FailurePolicy,
		variables, policy.Name)}
	variables.HasPatchTypes = true
	for _, mutation := range spec.Mutations {
		switch {
		case mutation.PatchType == admissionv1.PatchTypeJSONPatch && mutation.JSONPatch != nil:
			e := &patch.JSONPatchCondition{Expression: mutation.JSONPatch.Expression}
			m.patchers = append(m.patchers, patch.NewJSONPatcher(compiler.CompileMutatingEvaluator(e, variables,
				environment.StoredExpressions)))
		case mutation.PatchType == admissionv1.PatchTypeApplyConfiguration && mutation.ApplyConfiguration != nil:
			e := &patch.ApplyConfigurationCondition{Expression: mutation.ApplyConfiguration.Expression}
			m.patchers = append(m.patchers, patch.NewApplyConfigurationPatcher(compiler.CompileMutatingEvaluator(e, variables,
				environment.StoredExpressions)))
		}
	}
	return m, nil
}

const mutatingPolicyName = "MutatingAdmissionPolicy"

// invocation is an invocation of a policy, for a binding and one parameter object.
type invocation struct {
	policy  *compiledMutations
	binding *mutatingBinding
	param   runtime.Object // may be nil
	as      *subject
}

// invocationKey identifies an invocation for reinvocation.
type invocationKey struct{ policy, binding, paramNamespace, paramName string }

func (i *invocation) key() invocationKey {
	key := invocationKey{policy: i.policy.Name, binding: i.binding.Name}
	if i.param != nil {
		key.paramNamespace, key.paramName = must.Access(i.param).GetNamespace(), must.Access(i.param).GetName()
	}
	return key
}

// mutation is the mutation of one object by all policies.
type mutation struct {
	*mutatingPolicies
	attributes admission.Attributes
	interfaces admission.ObjectInterfaces
	versions   map[schema.GroupVersionKind]*admission.VersionedAttributes
	refusals   []policyRefusal
}

// policyRefusal is the reason why a policy could not change an object.
type policyRefusal struct {
	text   string
	reason metav1.StatusReason // may be empty
}

func (p *mutatingPolicies) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if exempt(a) || a.GetOperation() == admission.Delete { // even if "*" includes all operations
		return nil
	}
	policies, bindings := p.bound.all()
	m := &mutation{p, a, o, map[schema.GroupVersionKind]*admission.VersionedAttributes{}, nil}
	var invocations []invocation
	for _, policy := range policies {
		if len(bindings[policy.Name]) > 0 {
			invocations = append(invocations, m.invocations(ctx, policy, bindings[policy.Name])...)
		}
	}
	if len(invocations) > 0 {
		if err := m.invoke(ctx, invocations); err != nil {
			return err
		}
	}
	return m.refused()
}

// refused returns the error for the client if an expression could not be evaluated.
func (m *mutation) refused() error {
	if len(m.refusals) == 0 {
		return nil
	}
	err := admission.NewForbidden(m.attributes, errors.New("admission request denied by policy"))
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		return err
	}
	status.ErrStatus.Message = m.refusals[0].text
	if m.refusals[0].reason != "" {
		status.ErrStatus.Reason = m.refusals[0].reason
	}
	for _, refusal := range m.refusals {
		status.ErrStatus.Details.Causes = append(status.ErrStatus.Details.Causes, metav1.StatusCause{Message: refusal.text})
	}
	return status
}

// refuse records an error of a policy, unless the policy ignores failures.
func (m *mutation) refuse(policy *compiledMutations, binding *mutatingBinding, err error, reason metav1.StatusReason) {
	if policy.Spec.FailurePolicy != nil && *policy.Spec.FailurePolicy == admissionv1.Ignore {
		return
	}
	text := fmt.Sprintf("policy %q denied request: %v", policy.Name, err)
	if binding != nil {
		text = fmt.Sprintf("policy '%s' with binding '%s' denied request: %v", policy.Name, binding.Name, err)
	}
	m.refusals = append(m.refusals, policyRefusal{text, reason})
}

// invocations returns the invocations of a policy for the object.
func (m *mutation) invocations(ctx context.Context, policy *compiledMutations,
	bindings []*mutatingBinding) (all []invocation) {
	as, err := policy.matchAll(m.server, m.attributes, m.interfaces)
	if err == nil && as != nil {
		err = m.server.knowsParams(policy.Spec.ParamKind)
	}
	if err != nil {
		m.refuse(policy, nil, fmt.Errorf("failed to configure policy: %w", err), "")
		return nil
	}
	if as == nil {
		return nil
	}
	for _, b := range bindings {
		matches, err := b.matchAll(m.server, m.attributes, m.interfaces)
		if err != nil {
			m.refuse(policy, b, fmt.Errorf("failed to configure binding: %w", err), "")
			continue
		}
		if matches == nil {
			continue
		}
		if _, err := m.versioned(as.kind); err != nil {
			m.refuse(policy, nil, fmt.Errorf("failed to configure policy: %w", err), "")
			continue
		}
		params, err := m.server.params(ctx, policy.Spec.ParamKind, b.Spec.ParamRef, m.attributes.GetNamespace())
		if err != nil {
			m.refuse(policy, b, fmt.Errorf("failed to configure binding: %w", err), "")
			continue
		}
		for _, param := range params {
			all = append(all, invocation{policy, b, param, as})
		}
	}
	return all
}

// versioned returns the object in a version. As in the real server, the result lacks changes that policies made in
// another version.
func (m *mutation) versioned(kind schema.GroupVersionKind) (_ *admission.VersionedAttributes, err error) {
	if m.versions[kind] == nil {
		versioned, err := admission.NewVersionedAttributes(m.attributes, kind, m.interfaces)
		if err != nil {
			return nil, err
		}
		m.versions[kind] = versioned
	}
	return m.versions[kind], nil
}

// invoke runs the policies in order. In a reinvocation, it runs only the policies that request one.
func (m *mutation) invoke(ctx context.Context, all []invocation) error {
	again := m.attributes.GetReinvocationContext()
	known := invocationsOf[invocationKey](again, mutatingPolicyName)
	known.begin(m.attributes)
	defer known.end(m.attributes)
	namespace, err := m.server.visibleNamespace(m.attributes)
	if err != nil {
		return err
	}
	var last *admission.VersionedAttributes
	for i := range all {
		versioned, err := m.versioned(all[i].as.kind)
		if err != nil {
			return apierrors.NewInternalError(err)
		}
		invoked, changed, err := m.one(ctx, &all[i], versioned, namespace, known)
		if err != nil {
			return err
		}
		if invoked {
			last = versioned
		}
		if changed {
			known.changed()
			again.SetShouldReinvoke()
		}
		if invoked && all[i].policy.Spec.ReinvocationPolicy == admissionv1.IfNeededReinvocationPolicy {
			known.asked.Insert(all[i].key())
		}
	}
	if last == nil || last.VersionedObject.Object() == nil || !last.Dirty {
		return nil
	}
	known.changed()
	again.SetShouldReinvoke()
	if err := m.interfaces.GetObjectConvertor().Convert(last.VersionedObject.Object(), m.attributes.GetObject(),
		nil); err != nil {
		return apierrors.NewInternalError(fmt.Errorf("failed to convert object: %w", err))
	}
	return nil
}

// one runs a policy on the object if the policy's conditions match. It reports whether the policy was invoked, and
// whether the policy has changed the object.
func (m *mutation) one(ctx context.Context, i *invocation, a *admission.VersionedAttributes,
	namespace *corev1.Namespace, known *invocations[invocationKey]) (invoked, changed bool, err error) {
	compiled, err := i.policy.expressions()
	if err != nil {
		m.refuse(i.policy, nil, fmt.Errorf("failed to configure policy: %w", err), "")
		return false, false, nil
	}
	ctx = compiled.compiler.CreateContext(ctx)
	if compiled.conditions != nil {
		switch result := compiled.conditions.Match(ctx, a, i.param, m.server.authorizer); {
		case result.Error != nil:
			m.refuse(i.policy, i.binding, result.Error, metav1.StatusReasonInvalid)
			return false, false, nil
		case !result.Matches:
			return false, false, nil
		}
	}
	if m.attributes.GetReinvocationContext().IsReinvoke() && !known.again.Has(i.key()) {
		return false, false, nil
	}
	before := a.VersionedObject.Object()
	for _, patcher := range compiled.patchers {
		if a.VersionedObject.Object() == nil {
			break
		}
		err := m.patch(ctx, patcher, i, a, namespace)
		if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
			return true, false, status
		}
		if err != nil {
			m.refuse(i.policy, i.binding, err, metav1.StatusReasonInvalid)
		}
	}
	return true, !equality.Semantic.DeepEqual(before, a.VersionedObject.Object()), nil
}

func (m *mutation) patch(ctx context.Context, patcher patch.Patcher, i *invocation, a *admission.VersionedAttributes,
	namespace *corev1.Namespace) error {
	types := m.server.typeConverterOf(a.VersionedKind)
	if types == nil {
		return apierrors.NewServiceUnavailable(fmt.Sprintf("Resource kind %s not found. There can be a delay between when "+
			"CustomResourceDefinitions are created and when they are available.", a.VersionedKind))
	}
	patched, err := patcher.Patch(ctx, patch.Request{
		MatchedResource: i.as.resource, VersionedAttributes: a, ObjectInterfaces: m.interfaces, Namespace: namespace,
		TypeConverter:     types,
		OptionalVariables: plugincel.OptionalVariableBindings{VersionedParams: i.param, Authorizer: m.server.authorizer},
	}, celconfig.RuntimeCELCostBudget)
	if err != nil {
		return err
	}
	if _, free := a.VersionedObject.Object().(*unstructured.Unstructured); !free {
		if patched, err = m.interfaces.GetObjectConvertor().ConvertToVersion(patched,
			a.GetKind().GroupVersion()); err != nil {
			return err
		}
	}
	m.interfaces.GetObjectDefaulter().Default(patched)
	a.UpdateObject(patched)
	return nil
}

// typeConverterOf returns the schema of a kind, or nil if the kind does not exist in that version.
func (s *Server) typeConverterOf(gvk schema.GroupVersionKind) managedfields.TypeConverter {
	if k := builtinOf(gvk); k != nil {
		return k.typeConverter()
	}
	if gvk == definitionKind.GVK {
		return definitionKind.typeConverter()
	}
	if d := s.definitionOf(gvk); d != nil {
		return d.types
	}
	for _, kinds := range kindGroups() {
		if slices.ContainsFunc(kinds, func(k kind) bool { return k.GVK.GroupVersion() == gvk.GroupVersion() }) {
			return noTypes()
		}
	}
	return nil
}

// noTypes is a converter without kinds, for the kinds of subresources.
var noTypes = sync.OnceValue(func() managedfields.TypeConverter {
	types, err := managedfields.NewTypeConverter(nil, false)
	must.Do(err)
	return types
})
