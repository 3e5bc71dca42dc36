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
type mutatingPolicies struct{ policies[mutations] }

// mutations are the compiled expressions of a policy.
type mutations struct {
	compiler   *plugincel.CompositedCompiler
	conditions matchconditions.Matcher // may be nil
	patchers   []patch.Patcher
}

func (s *Server) newMutatingPolicies() *mutatingPolicies {
	return &mutatingPolicies{policies[mutations]{
		server: s, policies: s.tableOf(builtin.MutatingPolicyKind()), bindings: s.tableOf(builtin.MutatingBindingKind()),
		newPolicy: func(object runtime.Object) *policy[mutations] {
			policy := object.(*admissionv1.MutatingAdmissionPolicy)
			p := newPolicy(policy.Name, policy.Spec.MatchConstraints, policy.Spec.ParamKind, policy.Spec.FailurePolicy,
				func() (*mutations, error) { return compileMutations(policy) })
			p.reinvoked = policy.Spec.ReinvocationPolicy == admissionv1.IfNeededReinvocationPolicy
			return p
		},
	}}
}

func compileMutations(policy *admissionv1.MutatingAdmissionPolicy) (*mutations, error) {
	spec := &policy.Spec
	variables := plugincel.OptionalVariableDeclarations{HasParams: spec.ParamKind != nil, HasAuthorizer: true}
	compiler, err := newPolicyCompiler(spec.Variables, variables)
	if err != nil {
		return nil, err
	}
	m := &mutations{compiler: compiler, conditions: compileConditions(compiler, spec.MatchConditions, spec.FailurePolicy,
		variables, "policy", "validate", policy.Name)}
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
	match[mutations]
	param runtime.Object // may be nil
}

// invocationKey identifies an invocation for reinvocation.
type invocationKey struct{ policy, binding, paramNamespace, paramName string }

func (i *invocation) key() invocationKey {
	key := invocationKey{policy: i.policy.name, binding: i.binding.name}
	if i.param != nil {
		key.paramNamespace, key.paramName = must.Access(i.param).GetNamespace(), must.Access(i.param).GetName()
	}
	return key
}

// mutation is the mutation of one object by all policies.
type mutation struct {
	*mutatingPolicies
	versions // as in the real server, without the changes that policies made in another version
	refusals []policyRefusal
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
	m := &mutation{p, newVersions(a, o), nil}
	if invocations := m.invocations(ctx); len(invocations) > 0 {
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
	status := forbidden(m.attributes, "admission request denied by policy")
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
func (m *mutation) refuse(policy *policy[mutations], binding *binding, err error, reason metav1.StatusReason) {
	if policy.lenient {
		return
	}
	text := fmt.Sprintf("policy %q denied request: %v", policy.name, err)
	if binding != nil {
		text = fmt.Sprintf("policy '%s' with binding '%s' denied request: %v", policy.name, binding.name, err)
	}
	m.refusals = append(m.refusals, policyRefusal{text, reason})
}

// misconfigured records that a policy or a binding is invalid.
func (m *mutation) misconfigured(policy *policy[mutations], binding *binding, err error) {
	what := "policy"
	if binding != nil {
		what = "binding"
	}
	m.refuse(policy, binding, fmt.Errorf("failed to configure %s: %w", what, err), "")
}

// invocations returns the invocations for the object.
func (m *mutation) invocations(ctx context.Context) (all []invocation) {
	for found := range m.matches(m.attributes, m.interfaces, m.misconfigured) {
		if _, err := m.of(found.as.kind); err != nil {
			m.misconfigured(found.policy, nil, err)
			continue
		}
		params, err := m.server.params(ctx, found.policy.params, found.binding.params, m.attributes.GetNamespace())
		if err != nil {
			m.misconfigured(found.policy, found.binding, err)
			continue
		}
		for _, param := range params {
			all = append(all, invocation{found, param})
		}
	}
	return all
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
		versioned, err := m.of(all[i].as.kind)
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
		if invoked && all[i].policy.reinvoked {
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
		m.misconfigured(i.policy, nil, err)
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
	if slices.ContainsFunc(builtinKinds(), func(k *kind) bool { return k.GVK.GroupVersion() == gvk.GroupVersion() }) {
		return noTypes()
	}
	return nil
}

// noTypes is a converter without kinds, for the kinds of subresources.
var noTypes = sync.OnceValue(func() managedfields.TypeConverter {
	types, err := managedfields.NewTypeConverter(nil, false)
	must.Do(err)
	return types
})
