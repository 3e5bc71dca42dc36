package builtin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/client-go/util/jsonpath"
)

// PolicyKind returns the kind ValidatingAdmissionPolicy.
func PolicyKind() Kind {
	type policy = admissionv1.ValidatingAdmissionPolicy
	rules := admissionRules(func(p *policy) any { return p.Spec }, validatePolicy)
	rules.Reset = []string{"status"}
	rules.Create = func(_ context.Context, p *policy) { p.Status = admissionv1.ValidatingAdmissionPolicyStatus{} }
	rules.Update = func(_ context.Context, p, old *policy) { p.Status = old.Status }
	return Kind{
		GVK: AdmissionV1.WithKind("ValidatingAdmissionPolicy"), Resource: "validatingadmissionpolicies",
		Categories: apiExtensions,
		Columns: []Column{
			countColumn("Validations", "Validations indicates the number of validation rules defined in this configuration",
				func(object runtime.Object) int { return len(object.(*policy).Spec.Validations) }),
			paramKindColumn(func(object runtime.Object) *admissionv1.ParamKind { return object.(*policy).Spec.ParamKind }),
			SinceColumn,
		},
		Rules: rules.VersionedRules(),
		Status: new(Own[*policy]{
			Cluster: true, Conditional: true, Reset: []string{"spec", "metadata"},
			Update: func(_ context.Context, p, old *policy) {
				p.Spec = old.Spec
				metav1.ResetObjectMetaForStatus(&p.ObjectMeta, &old.ObjectMeta)
			},
			ValidateUpdate: func(_ context.Context, p, _ *policy) field.ErrorList {
				return validatePolicyStatus(&p.Status, field.NewPath("status"))
			},
		}.VersionedRules()),
	}
}

func paramKindColumn(of func(object runtime.Object) *admissionv1.ParamKind) Column {
	return Col("ParamKind", "string", "ParamKind specifies the kind of resources used to parameterize this policy",
		func(object runtime.Object) any {
			if kind := of(object); kind != nil {
				return kind.APIVersion + "/" + kind.Kind
			}
			return "<unset>"
		})
}

// policyFrame is the common part of validating and mutating policies.
type policyFrame struct {
	failure    *admissionv1.FailurePolicyType
	params     *admissionv1.ParamKind
	match      *admissionv1.MatchResources
	conditions []admissionv1.MatchCondition
	operations []admissionv1.OperationType // operations that rules may contain; nil means all
}

// validate validates the common part of policies. was is nil if the policy is created.
func (f *policyFrame) validate(was *policyFrame, path *field.Path) (problems field.ErrorList) {
	if problems = givenOneOf(path.Child("failurePolicy"), f.failure, failurePolicies); f.failure == nil {
		problems = append(problems, field.Required(path.Child("failurePolicy"), ""))
	}
	if f.params != nil {
		problems = append(problems, validateParamKind(*f.params, path.Child("paramKind"))...)
	}
	if f.match == nil {
		problems = append(problems, field.Required(path.Child("matchConstraints"), ""))
	} else {
		problems = append(problems, validateMatching(f.match, path.Child("matchConstraints"))...)
		if len(f.match.ResourceRules) == 0 {
			problems = append(problems, field.Required(path.Child("matchConstraints", "resourceRules"), ""))
		}
		if f.operations != nil {
			problems = append(problems, operationsAmong(f.match, f.operations, path.Child("matchConstraints"))...)
		}
	}
	known := sets.New[string]()
	if was != nil {
		if equality.Semantic.DeepEqual(f.params, was.params) && equality.Semantic.DeepEqual(f.conditions, was.conditions) {
			return problems
		}
		for _, condition := range was.conditions {
			known.Insert(condition.Expression)
		}
	}
	return append(problems, validateConditions(f.conditions, known, f.params != nil, path.Child("matchConditions"))...)
}

func validatingFrame(policy *admissionv1.ValidatingAdmissionPolicy) *policyFrame {
	if policy == nil {
		return nil
	}
	return &policyFrame{policy.Spec.FailurePolicy, policy.Spec.ParamKind, policy.Spec.MatchConstraints,
		policy.Spec.MatchConditions, nil}
}

// validatePolicy validates the spec of a policy. An expression of the old policy may use features that a new expression
// may not.
func validatePolicy(policy, old *admissionv1.ValidatingAdmissionPolicy) field.ErrorList {
	path := field.NewPath("spec")
	problems := validatingFrame(policy).validate(validatingFrame(old), path)
	if old == nil {
		old = &admissionv1.ValidatingAdmissionPolicy{}
	}
	return append(problems, validateExpressions(policy, &old.Spec, path)...)
}

// validateExpressions validates the variables, validations and annotations of a policy.
func validateExpressions(policy *admissionv1.ValidatingAdmissionPolicy, old *admissionv1.ValidatingAdmissionPolicySpec,
	path *field.Path) (problems field.ErrorList) {
	spec, compiler := &policy.Spec, statelessCompiler()
	var composed *plugincel.CompositedCompiler
	if len(spec.Variables) > 0 {
		composed = newComposedCompiler()
		compiler = composed
	}
	checks := policyChecks{
		compiler: compiler, old: old,
		variables: plugincel.OptionalVariableDeclarations{HasParams: spec.ParamKind != nil, HasAuthorizer: true},
		message:   plugincel.OptionalVariableDeclarations{HasParams: spec.ParamKind != nil},
	}
	for i, v := range spec.Variables {
		problems = append(problems, checks.variable(composed, v, path.Child("variables").Index(i))...)
	}
	if len(spec.Validations) == 0 && len(spec.AuditAnnotations) == 0 {
		const message = "validations or auditAnnotations must contain at least one item"
		return append(problems, field.Required(path.Child("validations"), message),
			field.Required(path.Child("auditAnnotations"), message))
	}
	for i, v := range spec.Validations {
		problems = append(problems, checks.validation(v, path.Child("validations").Index(i))...)
	}
	const most = 20
	annotations, keys := path.Child("auditAnnotations"), sets.New[string]()
	if len(spec.AuditAnnotations) > most {
		problems = append(problems, field.Invalid(annotations, spec.AuditAnnotations,
			fmt.Sprintf("must not have more than %d auditAnnotations", most)))
	}
	for i, annotation := range spec.AuditAnnotations {
		problems = append(problems, checks.annotation(policy.Name, annotation, annotations.Index(i))...)
		if keys.Has(annotation.Key) {
			problems = append(problems, field.Duplicate(annotations.Index(i).Child("key"), annotation.Key))
		}
		keys.Insert(annotation.Key)
	}
	return problems
}

// policyChecks validates the expressions of a policy.
type policyChecks struct {
	compiler           plugincel.Compiler
	old                *admissionv1.ValidatingAdmissionPolicySpec
	variables, message plugincel.OptionalVariableDeclarations
}

// known reports whether the old policy has a validation with the expression.
func (c *policyChecks) known(text string) bool {
	return slices.ContainsFunc(c.old.Validations, func(v admissionv1.Validation) bool { return v.Expression == text })
}

func (c *policyChecks) variable(compiler *plugincel.CompositedCompiler, v admissionv1.Variable,
	path *field.Path) (problems field.ErrorList) {
	if strings.TrimSpace(v.Name) == "" {
		problems = append(problems, field.Required(path.Child("name"), "name is not specified"))
	} else if !identifier.MatchString(v.Name) || reserved.Has(v.Name) {
		problems = append(problems, field.Invalid(path.Child("name"), v.Name, "must be a valid CEL identifier"))
	}
	if strings.TrimSpace(v.Expression) == "" {
		return append(problems, field.Required(path.Child("expression"), "expression is not specified"))
	}
	e := &Variable{Expression{v.Expression, AnyTypes}, v.Name}
	return append(problems, compilation(compiler.CompileAndStoreVariable(e, c.variables,
		environmentType(c.known(v.Expression))), e, path.Child("expression"))...)
}

func (c *policyChecks) validation(v admissionv1.Validation, path *field.Path) (problems field.ErrorList) {
	if strings.TrimSpace(v.Expression) == "" {
		problems = append(problems, field.Required(path.Child("expression"), "expression is not specified"))
	} else {
		problems = append(problems, compiled(c.compiler, &Expression{v.Expression, BoolTypes}, c.variables,
			c.known(v.Expression), path.Child("expression"))...)
	}
	const blank = "must be non-empty if specified"
	if message := strings.TrimSpace(v.MessageExpression); v.MessageExpression != "" && message == "" {
		problems = append(problems, field.Invalid(path.Child("messageExpression"), v.MessageExpression, blank))
	} else if message != "" {
		known := slices.ContainsFunc(c.old.Validations,
			func(old admissionv1.Validation) bool { return old.MessageExpression == v.MessageExpression })
		problems = append(problems, compiled(c.compiler, &Expression{v.MessageExpression, StringTypes}, c.message, known,
			path.Child("messageExpression"))...)
	}
	if message := strings.TrimSpace(v.Message); v.Message != "" && message == "" {
		problems = append(problems, field.Invalid(path.Child("message"), v.Message, blank))
	} else if strings.ContainsAny(message, "\n\r") {
		problems = append(problems, field.Invalid(path.Child("message"), v.Message, "must not contain line breaks"))
	}
	return append(problems, givenOneOf(path.Child("reason"), v.Reason, validationReasons)...)
}

func (c *policyChecks) annotation(policy string, annotation admissionv1.AuditAnnotation,
	path *field.Path) (problems field.ErrorList) {
	const longest = 5 * 1024
	if policy == "" {
		problems = append(problems, field.Invalid(path.Child("key"), annotation.Key, "requires metadata.name be non-empty"))
	} else {
		key := policy + "/" + annotation.Key
		problems = append(problems, invalid(path.Child("key"), key, utilvalidation.IsQualifiedName(key))...)
	}
	path = path.Child("valueExpression")
	switch text := strings.TrimSpace(annotation.ValueExpression); {
	case text == "":
		return append(problems, field.Required(path, "valueExpression is not specified"))
	case len(text) > longest:
		return append(problems, field.Required(path, fmt.Sprintf("must not exceed %d bytes in length", longest)))
	default:
		known := slices.ContainsFunc(c.old.AuditAnnotations,
			func(old admissionv1.AuditAnnotation) bool { return old.ValueExpression == annotation.ValueExpression })
		result := c.compiler.CompileCELExpression(&Expression{text, OptionalTypes}, c.variables, environmentType(known))
		return append(problems, compilation(result, &Expression{annotation.ValueExpression, nil}, path)...)
	}
}

func validateParamKind(kind admissionv1.ParamKind, path *field.Path) (problems field.ErrorList) {
	version := path.Child("apiVersion")
	switch gv, err := schema.ParseGroupVersion(kind.APIVersion); {
	case kind.APIVersion == "":
		problems = append(problems, field.Required(version, ""))
	case err != nil:
		problems = append(problems, field.Invalid(version, kind.APIVersion, err.Error()))
	default:
		if messages := utilvalidation.IsDNS1123Subdomain(gv.Group); gv.Group != "" && len(messages) > 0 {
			problems = append(problems, field.Invalid(version, gv.Group, strings.Join(messages, ",")))
		}
		if gv.Version == "" {
			problems = append(problems, field.Invalid(version, kind.APIVersion, "version must be specified"))
		} else if messages := utilvalidation.IsDNS1035Label(gv.Version); len(messages) > 0 {
			problems = append(problems, field.Invalid(version, gv.Version, strings.Join(messages, ",")))
		}
	}
	if kind.Kind == "" {
		problems = append(problems, field.Required(path.Child("kind"), ""))
	} else if messages := utilvalidation.IsDNS1035Label(strings.ToLower(kind.Kind)); len(messages) > 0 {
		problems = append(problems, field.Invalid(path.Child("kind"), kind.Kind,
			"may have mixed case, but should otherwise match: "+strings.Join(messages, ",")))
	}
	return problems
}

func validateMatching(match *admissionv1.MatchResources, path *field.Path) (problems field.ErrorList) {
	if match == nil {
		return nil
	}
	problems = givenOneOf(path.Child("matchPolicy"), match.MatchPolicy, matchPolicies)
	problems = append(problems, validateSelectors(match.NamespaceSelector, match.ObjectSelector,
		metav1validation.LabelSelectorValidationOptions{}, path)...)
	for i, rules := range [][]admissionv1.NamedRuleWithOperations{match.ResourceRules, match.ExcludeResourceRules} {
		name := []string{"resourceRules", "excludeResourceRules"}[i]
		for i := range rules {
			problems = append(problems, validateNamedRule(&rules[i], path.Child(name).Index(i))...)
		}
	}
	return problems
}

func validateNamedRule(rule *admissionv1.NamedRuleWithOperations, path *field.Path) (problems field.ErrorList) {
	for i, name := range rule.ResourceNames {
		at := path.Child("resourceNames").Index(i)
		problems = append(problems, invalid(at, name, content.IsPathSegmentName(name))...)
		if slices.Contains(rule.ResourceNames[:i], name) {
			problems = append(problems, field.Duplicate(at, name))
		}
	}
	return append(problems, validateOperations(&rule.RuleWithOperations, path)...)
}

func validatePolicyStatus(status *admissionv1.ValidatingAdmissionPolicyStatus,
	path *field.Path) (problems field.ErrorList) {
	if status.TypeChecking != nil {
		for i, w := range status.TypeChecking.ExpressionWarnings {
			at := path.Child("typeChecking", "expressionWarnings").Index(i)
			if w.Warning == "" {
				problems = append(problems, field.Required(at.Child("warning"), ""))
			}
			if ref := strings.TrimSpace(w.FieldRef); ref == "" {
				problems = append(problems, field.Required(at.Child("fieldRef"), ""))
			} else if err := jsonpath.New("spec").Parse("{" + ref + "}"); err != nil {
				problems = append(problems, field.Invalid(at.Child("fieldRef"), ref, fmt.Sprintf("invalid JSONPath: %v", err)))
			}
		}
	}
	return append(problems, metav1validation.ValidateConditions(status.Conditions, path.Child("conditions"))...)
}

// PolicyBindingKind returns the kind ValidatingAdmissionPolicyBinding.
func PolicyBindingKind() Kind {
	return Kind{
		GVK: AdmissionV1.WithKind("ValidatingAdmissionPolicyBinding"), Resource: "validatingadmissionpolicybindings",
		Categories: apiExtensions,
		Columns: policyBindingColumns(func(object runtime.Object) (string, *admissionv1.ParamRef) {
			spec := object.(*admissionv1.ValidatingAdmissionPolicyBinding).Spec
			return spec.PolicyName, spec.ParamRef
		}),
		Rules: admissionRules(func(binding *admissionv1.ValidatingAdmissionPolicyBinding) any { return binding.Spec },
			func(binding, _ *admissionv1.ValidatingAdmissionPolicyBinding) field.ErrorList {
				return validatePolicyBinding(&binding.Spec)
			}).VersionedRules(),
	}
}

func policyBindingColumns(of func(object runtime.Object) (policy string, params *admissionv1.ParamRef)) []Column {
	return []Column{
		Col("PolicyName", "string", "PolicyName indicates the policy definition which the policy binding binded to",
			func(object runtime.Object) any {
				policy, _ := of(object)
				return policy
			}),
		Col("ParamRef", "string", "ParamRef indicates the param resource which sets the configuration param",
			func(object runtime.Object) any {
				_, params := of(object)
				return paramName(params)
			}),
		SinceColumn,
	}
}

func paramName(ref *admissionv1.ParamRef) string {
	switch {
	case ref == nil:
		return "<unset>"
	case ref.Name != "" && ref.Namespace != "":
		return ref.Namespace + "/" + ref.Name
	case ref.Name != "":
		return "*/" + ref.Name
	case ref.Selector != nil:
		return ref.Selector.String()
	}
	return "<unset>"
}

// validateBound validates the common part of bindings.
func validateBound(policy string, params *admissionv1.ParamRef, match *admissionv1.MatchResources,
	path *field.Path) (problems field.ErrorList) {
	if policy == "" {
		problems = append(problems, field.Required(path.Child("policyName"), ""))
	} else {
		problems = append(problems, invalid(path.Child("policyName"), policy,
			validation.NameIsDNSSubdomain(policy, false))...)
	}
	problems = append(problems, validateParamRef(params, path.Child("paramRef"))...)
	return append(problems, validateMatching(match, path.Child("matchResources"))...)
}

func validatePolicyBinding(spec *admissionv1.ValidatingAdmissionPolicyBindingSpec) field.ErrorList {
	path := field.NewPath("spec")
	problems := validateBound(spec.PolicyName, spec.ParamRef, spec.MatchResources, path)
	for _, problem := range problems {
		if problem.Type == field.ErrorTypeRequired && problem.Field == "spec.policyName" {
			problem.MarkCoveredByDeclarative() // bindings of mutating policies have no generated check
		}
	}
	actions := path.Child("validationActions")
	for i := range spec.ValidationActions {
		problems = append(problems, givenOneOf(actions.Index(i), &spec.ValidationActions[i], validationActions)...)
		if slices.Contains(spec.ValidationActions[:i], spec.ValidationActions[i]) {
			problems = append(problems, field.Duplicate(actions.Index(i), spec.ValidationActions[i]))
		}
	}
	if slices.Contains(spec.ValidationActions, admissionv1.Deny) &&
		slices.Contains(spec.ValidationActions, admissionv1.Warn) {
		problems = append(problems, field.Invalid(actions, spec.ValidationActions,
			"must not contain both Deny and Warn (repeating the same validation failure information in the API response and "+
				"headers serves no purpose)"))
	}
	if len(spec.ValidationActions) == 0 {
		problems = append(problems, field.Required(actions, "").MarkCoveredByDeclarative())
	}
	return problems
}

func validateParamRef(ref *admissionv1.ParamRef, path *field.Path) (problems field.ErrorList) {
	if ref == nil {
		return nil
	}
	const exclusive = "name and selector are mutually exclusive"
	if ref.Name != "" {
		problems = append(problems, invalid(path.Child("name"), ref.Name, content.IsPathSegmentName(ref.Name))...)
	}
	if ref.Name != "" && ref.Selector != nil {
		problems = append(problems, field.Forbidden(path.Child("name"), exclusive))
	}
	problems = append(problems, metav1validation.ValidateLabelSelector(ref.Selector,
		metav1validation.LabelSelectorValidationOptions{}, path.Child("selector"))...)
	if ref.Name != "" && ref.Selector != nil {
		problems = append(problems, field.Forbidden(path.Child("selector"), exclusive))
	}
	if ref.Name == "" && ref.Selector == nil {
		problems = append(problems, field.Required(path, "one of name or selector must be specified"))
	}
	actions := []admissionv1.ParameterNotFoundActionType{admissionv1.DenyAction, admissionv1.AllowAction}
	if action := ref.ParameterNotFoundAction; action == nil || *action == "" {
		problems = append(problems, field.Required(path.Child("parameterNotFoundAction"), ""))
	} else {
		problems = append(problems, givenOneOf(path.Child("parameterNotFoundAction"), action, actions)...)
	}
	return problems
}
