package builtin

import (
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
)

// This file contains the kinds of MutatingAdmissionPolicies, of admissionregistration.k8s.io/v1.

// MutatingPolicyKind returns the kind MutatingAdmissionPolicy.
func MutatingPolicyKind() Kind {
	type policy = admissionv1.MutatingAdmissionPolicy
	return Kind{
		GVK: AdmissionV1.WithKind("MutatingAdmissionPolicy"), Resource: "mutatingadmissionpolicies",
		Categories: apiExtensions,
		Columns: []Column{
			countColumn("Mutations", "Mutation indicates the number of mutations rules defined in this configuration",
				func(object runtime.Object) int { return len(object.(*policy).Spec.Mutations) }),
			paramKindColumn(func(object runtime.Object) *admissionv1.ParamKind { return object.(*policy).Spec.ParamKind }),
			SinceColumn,
		},
		Rules: admissionRules(func(p *policy) any { return p.Spec }, validateMutatingPolicy).VersionedRules(),
	}
}

// MutatingBindingKind returns the kind MutatingAdmissionPolicyBinding.
func MutatingBindingKind() Kind {
	return Kind{
		GVK: AdmissionV1.WithKind("MutatingAdmissionPolicyBinding"), Resource: "mutatingadmissionpolicybindings",
		Categories: apiExtensions,
		Columns: policyBindingColumns(func(object runtime.Object) (string, *admissionv1.ParamRef) {
			spec := object.(*admissionv1.MutatingAdmissionPolicyBinding).Spec
			return spec.PolicyName, spec.ParamRef
		}),
		Rules: admissionRules(func(binding *admissionv1.MutatingAdmissionPolicyBinding) any { return binding.Spec },
			func(binding, _ *admissionv1.MutatingAdmissionPolicyBinding) field.ErrorList {
				return validateMutatingBinding(&binding.Spec)
			}).VersionedRules(),
	}
}

func validateMutatingBinding(spec *admissionv1.MutatingAdmissionPolicyBindingSpec) field.ErrorList {
	path := field.NewPath("spec")
	return append(validateBound(spec.PolicyName, spec.ParamRef, spec.MatchResources, path),
		operationsAmong(spec.MatchResources, mutatedOperations, path.Child("matchResources"))...)
}

// mutatedOperations contains the operations that have an object which a policy may change.
var mutatedOperations = []admissionv1.OperationType{admissionv1.OperationAll, admissionv1.Connect, admissionv1.Create,
	admissionv1.Update}

func operationsAmong(match *admissionv1.MatchResources, operations []admissionv1.OperationType,
	path *field.Path) (problems field.ErrorList) {
	if match == nil {
		return nil
	}
	for _, rule := range match.ResourceRules {
		for i := range rule.Operations {
			problems = append(problems, givenOneOf(path.Child("resourceRules", "operations"), &rule.Operations[i],
				operations)...)
		}
	}
	return problems
}

func mutatingFrame(policy *admissionv1.MutatingAdmissionPolicy) *policyFrame {
	if policy == nil {
		return nil
	}
	return &policyFrame{policy.Spec.FailurePolicy, policy.Spec.ParamKind, policy.Spec.MatchConstraints,
		policy.Spec.MatchConditions, mutatedOperations}
}

// validateMutatingPolicy validates the spec of a policy. An expression of the old policy may use features that a new
// expression may not.
func validateMutatingPolicy(policy, old *admissionv1.MutatingAdmissionPolicy) field.ErrorList {
	spec, path := &policy.Spec, field.NewPath("spec")
	problems := mutatingFrame(policy).validate(mutatingFrame(old), path)
	compiler := newComposedCompiler()
	checks := policyChecks{compiler: compiler, old: &admissionv1.ValidatingAdmissionPolicySpec{},
		variables: plugincel.OptionalVariableDeclarations{HasParams: spec.ParamKind != nil, HasAuthorizer: true}}
	for i, v := range spec.Variables {
		problems = append(problems, checks.variable(compiler, v, path.Child("variables").Index(i))...)
	}
	if len(spec.Mutations) == 0 {
		problems = append(problems, field.Required(path.Child("mutations"), "mutations must contain at least one item"))
	}
	known := sets.New[string]() // only apply configurations, with which JSON patches are compared too
	if old != nil {
		for _, m := range old.Spec.Mutations {
			if m.ApplyConfiguration != nil {
				known.Insert(m.ApplyConfiguration.Expression)
			}
		}
	}
	for i := range spec.Mutations {
		problems = append(problems, checks.mutation(&spec.Mutations[i], known, path.Child("mutations").Index(i))...)
	}
	if spec.ReinvocationPolicy == "" {
		return append(problems, field.Required(path.Child("reinvocationPolicy"), ""))
	}
	return append(problems, givenOneOf(path.Child("reinvocationPolicy"), &spec.ReinvocationPolicy, reinvocations)...)
}

var patchTypes = []admissionv1.PatchType{admissionv1.PatchTypeApplyConfiguration, admissionv1.PatchTypeJSONPatch}

func (c *policyChecks) mutation(m *admissionv1.Mutation, known sets.Set[string],
	path *field.Path) (problems field.ErrorList) {
	apply, patches := path.Child("applyConfiguration"), path.Child("jsonPatch")
	switch m.PatchType {
	case "":
		return field.ErrorList{field.Required(path.Child("patchType"), "")}
	case admissionv1.PatchTypeJSONPatch:
		if m.JSONPatch == nil {
			problems = append(problems, field.Required(patches, "must be specified when patchType is JSONPatch"))
		} else {
			text := strings.TrimSpace(m.JSONPatch.Expression)
			problems = append(problems, c.patch(&patch.JSONPatchCondition{Expression: text}, known.Has(m.JSONPatch.Expression),
				patches.Child("expression"))...)
		}
		if m.ApplyConfiguration != nil {
			problems = append(problems, field.Invalid(apply, "{applyConfiguration}",
				"must not be specified when patchType is JSONPatch"))
		}
	case admissionv1.PatchTypeApplyConfiguration:
		if m.ApplyConfiguration == nil {
			problems = append(problems, field.Required(apply, "must be specified when patchType is ApplyConfiguration"))
		} else {
			text := strings.TrimSpace(m.ApplyConfiguration.Expression)
			problems = append(problems, c.patch(&patch.ApplyConfigurationCondition{Expression: text},
				known.Has(m.ApplyConfiguration.Expression), apply.Child("expression"))...)
		}
		if m.JSONPatch != nil {
			problems = append(problems, field.Invalid(patches, "{jsonPatch}",
				"must not be specified when patchType is ApplyConfiguration"))
		}
	default:
		return givenOneOf(path.Child("patchType"), &m.PatchType, patchTypes)
	}
	return problems
}

func (c *policyChecks) patch(e plugincel.ExpressionAccessor, known bool, path *field.Path) field.ErrorList {
	if e.GetExpression() == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	variables := c.variables
	variables.HasPatchTypes = true
	return compiled(c.compiler, e, variables, known, path)
}
