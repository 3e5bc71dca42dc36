package builtin

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
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
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/util/jsonpath"

	"github.com/kctrl-dev/kctrl/runtime/apiserver/internal/must"
)

// Kinds of admissionregistration.k8s.io/v1. What they do to writes is the server's business.

// AdmissionV1 is admissionregistration.k8s.io/v1.
var AdmissionV1 = admissionv1.SchemeGroupVersion

func admissionDefaults() []Defaulter {
	return []Defaulter{
		DefaultsOf(func(w *admissionv1.ValidatingWebhook) {
			defaultHook(&w.FailurePolicy, &w.MatchPolicy, &w.NamespaceSelector, &w.ObjectSelector, &w.TimeoutSeconds)
		}),
		DefaultsOf(func(w *admissionv1.MutatingWebhook) {
			defaultHook(&w.FailurePolicy, &w.MatchPolicy, &w.NamespaceSelector, &w.ObjectSelector, &w.TimeoutSeconds)
			SetPointer(&w.ReinvocationPolicy, admissionv1.NeverReinvocationPolicy)
		}),
		DefaultsOf(func(s *admissionv1.ServiceReference) { SetPointer(&s.Port, 443) }),
		DefaultsOf(func(r *admissionv1.Rule) { SetPointer(&r.Scope, admissionv1.AllScopes) }),
		DefaultsOf(func(spec *admissionv1.ValidatingAdmissionPolicySpec) {
			SetPointer(&spec.FailurePolicy, admissionv1.Fail)
		}),
		DefaultsOf(func(spec *admissionv1.MutatingAdmissionPolicySpec) {
			SetPointer(&spec.FailurePolicy, admissionv1.Fail)
		}),
		DefaultsOf(func(m *admissionv1.MatchResources) {
			SetPointer(&m.MatchPolicy, admissionv1.Equivalent)
			SetPointer(&m.NamespaceSelector, metav1.LabelSelector{})
			SetPointer(&m.ObjectSelector, metav1.LabelSelector{})
		}),
	}
}

func defaultHook(failure **admissionv1.FailurePolicyType, match **admissionv1.MatchPolicyType, namespaces, objects **metav1.LabelSelector, timeout **int32) {
	SetPointer(failure, admissionv1.Fail)
	SetPointer(match, admissionv1.Equivalent)
	SetPointer(namespaces, metav1.LabelSelector{})
	SetPointer(objects, metav1.LabelSelector{})
	SetPointer(timeout, 10)
}

var apiExtensions = []string{"api-extensions"}

func countColumn(name, description string, count func(object runtime.Object) int) Column {
	return Col(name, "integer", description, func(object runtime.Object) any { return int64(count(object)) })
}

const webhooksDescription = "Webhooks indicates the number of webhooks registered in this configuration"

// MutatingHookKind is MutatingWebhookConfiguration.
var MutatingHookKind = Kind{
	GVK: AdmissionV1.WithKind("MutatingWebhookConfiguration"), Resource: "mutatingwebhookconfigurations", Categories: apiExtensions,
	Columns: []Column{countColumn("Webhooks", webhooksDescription, func(object runtime.Object) int {
		return len(object.(*admissionv1.MutatingWebhookConfiguration).Webhooks)
	}), SinceColumn},
	Rules: hookRules(func(object runtime.Object) []Hook {
		return MutatingHooks(object.(*admissionv1.MutatingWebhookConfiguration))
	}),
}

// ValidatingHookKind is ValidatingWebhookConfiguration.
var ValidatingHookKind = Kind{
	GVK: AdmissionV1.WithKind("ValidatingWebhookConfiguration"), Resource: "validatingwebhookconfigurations", Categories: apiExtensions,
	Columns: []Column{countColumn("Webhooks", webhooksDescription, func(object runtime.Object) int {
		return len(object.(*admissionv1.ValidatingWebhookConfiguration).Webhooks)
	}), SinceColumn},
	Rules: hookRules(func(object runtime.Object) []Hook {
		return ValidatingHooks(object.(*admissionv1.ValidatingWebhookConfiguration))
	}),
}

// Hook is a webhook of either kind. Nobody changes it.
type Hook struct {
	admissionv1.ValidatingWebhook
	Mutating      bool
	Configuration string
	Index         int
	Reinvocation  *admissionv1.ReinvocationPolicyType // of a mutating one
}

// ValidatingHooks are the webhooks of a configuration, in its order.
func ValidatingHooks(configuration *admissionv1.ValidatingWebhookConfiguration) (hooks []Hook) {
	for i, w := range configuration.Webhooks {
		hooks = append(hooks, Hook{ValidatingWebhook: w, Configuration: configuration.Name, Index: i})
	}
	return hooks
}

// MutatingHooks are the webhooks of a configuration, in its order.
func MutatingHooks(configuration *admissionv1.MutatingWebhookConfiguration) (hooks []Hook) {
	for i, w := range configuration.Webhooks {
		common := admissionv1.ValidatingWebhook{
			Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy, MatchPolicy: w.MatchPolicy,
			NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector, SideEffects: w.SideEffects, TimeoutSeconds: w.TimeoutSeconds,
			AdmissionReviewVersions: w.AdmissionReviewVersions, MatchConditions: w.MatchConditions,
		}
		hooks = append(hooks, Hook{ValidatingWebhook: common, Mutating: true, Configuration: configuration.Name, Index: i, Reinvocation: w.ReinvocationPolicy})
	}
	return hooks
}

// hookRules are the rules of a configuration.
func hookRules(hooks func(object runtime.Object) []Hook) Rules {
	return Rules{
		Create: func(object runtime.Object) { must.Access(object).SetGeneration(1) },
		Update: func(object, old runtime.Object) {
			if !reflect.DeepEqual(hooks(object), hooks(old)) {
				must.Access(object).SetGeneration(must.Access(old).GetGeneration() + 1)
			}
		},
		Validate: func(object runtime.Object) field.ErrorList {
			return append(validateAdmissionMetadata(object, true), validateHooks(hooks(object), nil)...)
		},
		ValidateUpdate: func(object, old runtime.Object) field.ErrorList {
			return append(validateAdmissionMetadata(object, false), validateHooks(hooks(object), hooks(old))...)
		},
		Warnings: func(object runtime.Object) (warnings []string) {
			for i, h := range hooks(object) {
				for j := range h.Rules {
					warnings = append(warnings, warnReviews(field.NewPath("webhooks").Index(i).Child("rules").Index(j), &h.Rules[j].Rule)...)
				}
			}
			return warnings
		},
	}
}

// Reviews are the resources that are not stored and that no webhook is asked about.
var Reviews = sets.New(
	schema.GroupResource{Group: "authentication.k8s.io", Resource: "selfsubjectreviews"}, schema.GroupResource{Group: "authentication.k8s.io", Resource: "tokenreviews"},
	schema.GroupResource{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"}, schema.GroupResource{Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"},
	schema.GroupResource{Group: "authorization.k8s.io", Resource: "selfsubjectrulesreviews"}, schema.GroupResource{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"},
)

// warnReviews warns of reviews that a rule names.
func warnReviews(path *field.Path, rule *admissionv1.Rule) (warnings []string) {
	if slices.Contains(rule.APIGroups, "*") || slices.Contains(rule.Resources, "*") {
		return nil
	}
	for _, group := range rule.APIGroups {
		for _, name := range rule.Resources {
			if resource := (schema.GroupResource{Group: group, Resource: name}); Reviews.Has(resource) {
				warnings = append(warnings, fmt.Sprintf("%s: %s is excluded from admission webhooks; this rule will have no effect", path, resource))
			}
		}
	}
	return slices.Compact(warnings)
}

// staticSuffix is that of the names of what a server has from files.
const staticSuffix = ".static.k8s.io"

func validateAdmissionMetadata(object runtime.Object, created bool) field.ErrorList {
	path, accessor := field.NewPath("metadata"), must.Access(object)
	problems := validation.ValidateObjectMetaAccessor(accessor, false, validation.NameIsDNSSubdomain, path)
	if created && strings.HasSuffix(accessor.GetName(), staticSuffix) {
		problems = append(problems, field.Invalid(path.Child("name"), accessor.GetName(), fmt.Sprintf("names ending with %q are reserved for static manifest-based configurations and cannot be managed via the API", staticSuffix)))
	}
	return problems
}

// validateHooks checks the webhooks of a configuration. What was wrong in the old ones may stay.
func validateHooks(hooks, old []Hook) (problems field.ErrorList) {
	was, names := leniencyOf(old), sets.New[string]()
	unchanged := slices.EqualFunc(hooks, old, func(a, b Hook) bool { return reflect.DeepEqual(a.MatchConditions, b.MatchConditions) })
	for i := range hooks {
		h, path := &hooks[i], field.NewPath("webhooks").Index(i)
		problems = append(problems, validateHook(h, was, path)...)
		if !unchanged {
			problems = append(problems, validateConditions(h.MatchConditions, was.conditions, false, path.Child("matchConditions"))...)
		}
		problems = append(problems, validateReviewVersions(h.AdmissionReviewVersions, was.versions, path.Child("admissionReviewVersions"))...)
		if names.Has(h.Name) && !was.names && h.Name != "" {
			problems = append(problems, field.Duplicate(path.Child("name"), h.Name))
		}
		names.Insert(h.Name)
	}
	return problems
}

// leniency says what is allowed because the old object has it.
type leniency struct {
	names, versions, sideEffects, selectors bool
	conditions                              sets.Set[string] // expressions
}

func leniencyOf(old []Hook) leniency {
	was, names := leniency{conditions: sets.New[string]()}, sets.New[string]()
	for i := range old {
		h := &old[i]
		was.names = was.names || names.Has(h.Name)
		names.Insert(h.Name)
		was.versions = was.versions || len(h.AdmissionReviewVersions) > 0 && !slices.ContainsFunc(h.AdmissionReviewVersions, IsReviewVersion)
		was.sideEffects = was.sideEffects || h.SideEffects == nil || !slices.Contains(noSideEffects, *h.SideEffects)
		for _, selector := range []*metav1.LabelSelector{h.NamespaceSelector, h.ObjectSelector} {
			was.selectors = was.selectors || selector != nil && len(metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, nil)) > 0
		}
		for _, c := range h.MatchConditions {
			was.conditions.Insert(c.Expression)
		}
	}
	return was
}

var (
	reviewVersions    = []string{"v1", "v1beta1"}
	noSideEffects     = []admissionv1.SideEffectClass{admissionv1.SideEffectClassNone, admissionv1.SideEffectClassNoneOnDryRun}
	sideEffects       = []admissionv1.SideEffectClass{admissionv1.SideEffectClassNone, admissionv1.SideEffectClassNoneOnDryRun, admissionv1.SideEffectClassSome, admissionv1.SideEffectClassUnknown}
	failurePolicies   = []admissionv1.FailurePolicyType{admissionv1.Fail, admissionv1.Ignore}
	matchPolicies     = []admissionv1.MatchPolicyType{admissionv1.Equivalent, admissionv1.Exact}
	reinvocations     = []admissionv1.ReinvocationPolicyType{admissionv1.IfNeededReinvocationPolicy, admissionv1.NeverReinvocationPolicy}
	ruleOperations    = []admissionv1.OperationType{admissionv1.OperationAll, admissionv1.Connect, admissionv1.Create, admissionv1.Delete, admissionv1.Update}
	scopes            = []admissionv1.ScopeType{admissionv1.AllScopes, admissionv1.ClusterScope, admissionv1.NamespacedScope}
	validationActions = []admissionv1.ValidationAction{admissionv1.Audit, admissionv1.Deny, admissionv1.Warn}
	validationReasons = []metav1.StatusReason{metav1.StatusReasonForbidden, metav1.StatusReasonInvalid, metav1.StatusReasonRequestEntityTooLarge}
)

// IsReviewVersion reports whether webhooks may be asked in a version.
func IsReviewVersion(version string) bool { return slices.Contains(reviewVersions, version) }

// givenOneOf checks that a value, if there is one, is one of those that there are.
func givenOneOf[T ~string](path *field.Path, value *T, of []T) field.ErrorList {
	if value == nil || slices.Contains(of, *value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, *value, of)}
}

func validateHook(h *Hook, was leniency, path *field.Path) field.ErrorList {
	problems := utilvalidation.IsFullyQualifiedName(path.Child("name"), h.Name)
	for i := range h.Rules {
		problems = append(problems, validateOperations(&h.Rules[i], path.Child("rules").Index(i))...)
	}
	problems = append(problems, givenOneOf(path.Child("failurePolicy"), h.FailurePolicy, failurePolicies)...)
	problems = append(problems, givenOneOf(path.Child("matchPolicy"), h.MatchPolicy, matchPolicies)...)
	allowed := noSideEffects
	if was.sideEffects {
		allowed = sideEffects
	}
	if h.SideEffects == nil {
		problems = append(problems, field.Required(path.Child("sideEffects"), "must specify one of "+joined(allowed)))
	}
	problems = append(problems, givenOneOf(path.Child("sideEffects"), h.SideEffects, allowed)...)
	if h.TimeoutSeconds != nil && (*h.TimeoutSeconds > 30 || *h.TimeoutSeconds < 1) {
		problems = append(problems, field.Invalid(path.Child("timeoutSeconds"), *h.TimeoutSeconds, "the timeout value must be between 1 and 30 seconds"))
	}
	options := metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: was.selectors}
	if h.NamespaceSelector != nil {
		problems = append(problems, metav1validation.ValidateLabelSelector(h.NamespaceSelector, options, path.Child("namespaceSelector"))...)
	}
	if h.ObjectSelector != nil {
		problems = append(problems, metav1validation.ValidateLabelSelector(h.ObjectSelector, options, path.Child("objectSelector"))...)
	}
	problems = append(problems, givenOneOf(path.Child("reinvocationPolicy"), h.Reinvocation, reinvocations)...)
	return append(problems, validateClient(h.ClientConfig, path.Child("clientConfig"))...)
}

func joined[T ~string](values []T) string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = string(value)
	}
	return strings.Join(texts, ", ")
}

func validateClient(client admissionv1.WebhookClientConfig, path *field.Path) field.ErrorList {
	switch service := client.Service; {
	case (client.URL == nil) == (service == nil):
		return field.ErrorList{field.Required(path, "exactly one of url or service is required")}
	case client.URL != nil:
		return webhook.ValidateWebhookURL(path.Child("url"), *client.URL, true)
	default:
		return webhook.ValidateWebhookService(path.Child("service"), service.Name, service.Namespace, service.Path, *service.Port)
	}
}

func validateReviewVersions(versions []string, lenient bool, path *field.Path) (problems field.ErrorList) {
	if len(versions) == 0 {
		return field.ErrorList{field.Required(path, "must specify one of "+strings.Join(reviewVersions, ", "))}
	}
	for i, version := range versions {
		if slices.Contains(versions[:i], version) {
			problems = append(problems, field.Invalid(path.Index(i), version, "duplicate version"))
			continue
		}
		problems = append(problems, invalid(path.Index(i), version, utilvalidation.IsDNS1035Label(version))...)
	}
	if !lenient && !slices.ContainsFunc(versions, IsReviewVersion) {
		problems = append(problems, field.Invalid(path, versions, "must include at least one of "+strings.Join(reviewVersions, ", ")))
	}
	return problems
}

func validateOperations(rule *admissionv1.RuleWithOperations, path *field.Path) (problems field.ErrorList) {
	if len(rule.Operations) == 0 {
		problems = append(problems, field.Required(path.Child("operations"), ""))
	}
	if len(rule.Operations) > 1 && slices.Contains(rule.Operations, admissionv1.OperationAll) {
		problems = append(problems, field.Invalid(path.Child("operations"), rule.Operations, "if '*' is present, must not specify other operations"))
	}
	for i := range rule.Operations {
		problems = append(problems, givenOneOf(path.Child("operations").Index(i), &rule.Operations[i], ruleOperations)...)
	}
	alone := func(name, what string, values []string) {
		if len(values) == 0 {
			problems = append(problems, field.Required(path.Child(name), ""))
		}
		if len(values) > 1 && slices.Contains(values, "*") {
			problems = append(problems, field.Invalid(path.Child(name), values, "if '*' is present, must not specify other API "+what))
		}
	}
	alone("apiGroups", "groups", rule.APIGroups)
	alone("apiVersions", "versions", rule.APIVersions)
	for i, version := range rule.APIVersions {
		if version == "" {
			problems = append(problems, field.Required(path.Child("apiVersions").Index(i), ""))
		}
	}
	problems = append(problems, validateRuleResources(rule.Resources, path.Child("resources"))...)
	return append(problems, givenOneOf(path.Child("scope"), rule.Scope, scopes)...)
}

// validateRuleResources checks that no resource of a rule is there twice, by itself and by a wildcard before it.
func validateRuleResources(resources []string, path *field.Path) (problems field.ErrorList) {
	if len(resources) == 0 {
		problems = append(problems, field.Required(path, ""))
	}
	allOf, ofAll, all, any, plain := sets.New[string](), sets.New[string](), false, false, false
	for i, resource := range resources {
		if resource == "" {
			problems = append(problems, field.Required(path.Index(i), ""))
			continue
		}
		all, any = all || resource == "*/*", any || resource == "*"
		name, part, ok := strings.Cut(resource, "/")
		if !ok {
			plain = resource != "*"
			continue
		}
		if allOf.Has(name) {
			problems = append(problems, field.Invalid(path.Index(i), resource, fmt.Sprintf("if '%s/*' is present, must not specify %s", name, resource)))
		}
		if ofAll.Has(part) {
			problems = append(problems, field.Invalid(path.Index(i), resource, fmt.Sprintf("if '*/%s' is present, must not specify %s", part, resource)))
		}
		if part == "*" {
			allOf.Insert(name)
		}
		if name == "*" {
			ofAll.Insert(part)
		}
	}
	if len(resources) > 1 && all {
		problems = append(problems, field.Invalid(path, resources, "if '*/*' is present, must not specify other resources"))
	}
	if any && plain {
		problems = append(problems, field.Invalid(path, resources, "if '*' is present, must not specify other resources without subresources"))
	}
	return problems
}

// Expression is a CEL expression, and the types that it may have.
type Expression struct {
	Text  string
	Types []*cel.Type
}

func (e *Expression) GetExpression() string    { return e.Text }
func (e *Expression) ReturnTypes() []*cel.Type { return e.Types }

// Variable is an expression with a name.
type Variable struct {
	Expression
	Name string
}

func (v *Variable) GetName() string { return v.Name }

var (
	BoolTypes     = []*cel.Type{cel.BoolType}
	StringTypes   = []*cel.Type{cel.StringType}
	OptionalTypes = []*cel.Type{cel.StringType, cel.NullType}
	AnyTypes      = []*cel.Type{cel.AnyType, cel.DynType}
)

// statelessCompiler compiles what has no variables. Its environment takes milliseconds to make, and all servers may share it.
var statelessCompiler = sync.OnceValue(func() plugincel.Compiler {
	return plugincel.NewCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
})

// newComposedCompiler compiles what may name variables of the policy.
func newComposedCompiler() *plugincel.CompositedCompiler {
	compiler, err := plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	must.Do(err)
	return compiler
}

// compiled is what is wrong with an expression.
func compiled(compiler plugincel.Compiler, e plugincel.ExpressionAccessor, variables plugincel.OptionalVariableDeclarations, known bool, path *field.Path) field.ErrorList {
	return compilation(compiler.CompileCELExpression(e, variables, environmentType(known)), e, path)
}

// environmentType is that of an expression: one that was stored before may use what new ones may not.
func environmentType(known bool) environment.Type {
	if known {
		return environment.StoredExpressions
	}
	return environment.NewExpressions
}

func compilation(result plugincel.CompilationResult, e plugincel.ExpressionAccessor, path *field.Path) field.ErrorList {
	switch err := result.Error; {
	case err == nil:
		return nil
	case err.Type == apiservercel.ErrorTypeRequired:
		return field.ErrorList{field.Required(path, err.Detail)}
	case err.Type == apiservercel.ErrorTypeInvalid:
		return field.ErrorList{field.Invalid(path, e.GetExpression(), err.Detail)}
	default:
		return field.ErrorList{field.InternalError(path, err)}
	}
}

func validateConditions(conditions []admissionv1.MatchCondition, known sets.Set[string], params bool, path *field.Path) (problems field.ErrorList) {
	const most = 64
	if len(conditions) > most {
		problems = append(problems, field.TooMany(path, len(conditions), most))
	}
	names := sets.New[string]()
	for i, condition := range conditions {
		at := path.Index(i)
		if text := strings.TrimSpace(condition.Expression); text == "" {
			problems = append(problems, field.Required(at.Child("expression"), ""))
		} else {
			variables := plugincel.OptionalVariableDeclarations{HasParams: params, HasAuthorizer: true}
			problems = append(problems, compiled(statelessCompiler(), &matchconditions.MatchCondition{Expression: text}, variables, known.Has(text), at.Child("expression"))...)
		}
		if condition.Name == "" {
			problems = append(problems, field.Required(at.Child("name"), ""))
			continue
		}
		problems = append(problems, invalid(at.Child("name"), condition.Name, utilvalidation.IsQualifiedName(condition.Name))...)
		if names.Has(condition.Name) {
			problems = append(problems, field.Duplicate(at.Child("name"), condition.Name))
		}
		names.Insert(condition.Name)
	}
	return problems
}

// PolicyKind is ValidatingAdmissionPolicy.
func PolicyKind() Kind {
	return Kind{
		GVK: AdmissionV1.WithKind("ValidatingAdmissionPolicy"), Resource: "validatingadmissionpolicies", Categories: apiExtensions,
		Columns: []Column{
			countColumn("Validations", "Validations indicates the number of validation rules defined in this configuration", func(object runtime.Object) int {
				return len(object.(*admissionv1.ValidatingAdmissionPolicy).Spec.Validations)
			}),
			paramKindColumn(func(object runtime.Object) *admissionv1.ParamKind {
				return object.(*admissionv1.ValidatingAdmissionPolicy).Spec.ParamKind
			}),
			SinceColumn,
		},
		Rules: Rules{
			Reset: []string{"status"},
			Create: func(object runtime.Object) {
				policy := object.(*admissionv1.ValidatingAdmissionPolicy)
				policy.Status, policy.Generation = admissionv1.ValidatingAdmissionPolicyStatus{}, 1
			},
			Update: func(object, old runtime.Object) {
				policy, was := object.(*admissionv1.ValidatingAdmissionPolicy), old.(*admissionv1.ValidatingAdmissionPolicy)
				if policy.Status = was.Status; !equality.Semantic.DeepEqual(policy.Spec, was.Spec) {
					policy.Generation = was.Generation + 1
				}
			},
			Validate: func(object runtime.Object) field.ErrorList {
				return append(validateAdmissionMetadata(object, true), validatePolicy(object.(*admissionv1.ValidatingAdmissionPolicy), nil)...)
			},
			ValidateUpdate: func(object, old runtime.Object) field.ErrorList {
				return append(validateAdmissionMetadata(object, false), validatePolicy(object.(*admissionv1.ValidatingAdmissionPolicy), old.(*admissionv1.ValidatingAdmissionPolicy))...)
			},
		},
		Status: &Rules{
			Reset: []string{"spec", "metadata"},
			Update: func(object, old runtime.Object) {
				policy, was := object.(*admissionv1.ValidatingAdmissionPolicy), old.(*admissionv1.ValidatingAdmissionPolicy)
				policy.Spec = was.Spec
				metav1.ResetObjectMetaForStatus(&policy.ObjectMeta, &was.ObjectMeta)
			},
			ValidateUpdate: func(object, _ runtime.Object) field.ErrorList {
				return validatePolicyStatus(&object.(*admissionv1.ValidatingAdmissionPolicy).Status, field.NewPath("status"))
			},
		},
	}
}

func paramKindColumn(of func(object runtime.Object) *admissionv1.ParamKind) Column {
	return Col("ParamKind", "string", "ParamKind specifies the kind of resources used to parameterize this policy", func(object runtime.Object) any {
		if kind := of(object); kind != nil {
			return kind.APIVersion + "/" + kind.Kind
		}
		return "<unset>"
	})
}

// policyFrame is what policies of both kinds have.
type policyFrame struct {
	failure    *admissionv1.FailurePolicyType
	params     *admissionv1.ParamKind
	match      *admissionv1.MatchResources
	conditions []admissionv1.MatchCondition
	operations []admissionv1.OperationType // that rules may name; nil for all
}

// validate checks what policies of both kinds have; was is nil for a creation.
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
	return &policyFrame{policy.Spec.FailurePolicy, policy.Spec.ParamKind, policy.Spec.MatchConstraints, policy.Spec.MatchConditions, nil}
}

// validatePolicy checks the spec of a policy. Expressions that the old one has may be such as new ones may not be.
func validatePolicy(policy, old *admissionv1.ValidatingAdmissionPolicy) field.ErrorList {
	path := field.NewPath("spec")
	problems := validatingFrame(policy).validate(validatingFrame(old), path)
	if old == nil {
		old = &admissionv1.ValidatingAdmissionPolicy{}
	}
	return append(problems, validateExpressions(policy, &old.Spec, path)...)
}

// validateExpressions checks the variables, validations and annotations of a policy.
func validateExpressions(policy *admissionv1.ValidatingAdmissionPolicy, old *admissionv1.ValidatingAdmissionPolicySpec, path *field.Path) (problems field.ErrorList) {
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
		return append(problems, field.Required(path.Child("validations"), message), field.Required(path.Child("auditAnnotations"), message))
	}
	for i, v := range spec.Validations {
		problems = append(problems, checks.validation(v, path.Child("validations").Index(i))...)
	}
	const most = 20
	annotations, keys := path.Child("auditAnnotations"), sets.New[string]()
	if len(spec.AuditAnnotations) > most {
		problems = append(problems, field.Invalid(annotations, spec.AuditAnnotations, fmt.Sprintf("must not have more than %d auditAnnotations", most)))
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

// policyChecks check the expressions of one policy.
type policyChecks struct {
	compiler           plugincel.Compiler
	old                *admissionv1.ValidatingAdmissionPolicySpec
	variables, message plugincel.OptionalVariableDeclarations
}

// known reports whether the old policy has an expression among its validations.
func (c *policyChecks) known(text string) bool {
	return slices.ContainsFunc(c.old.Validations, func(v admissionv1.Validation) bool { return v.Expression == text })
}

var (
	identifier = regexp.MustCompile("^[_a-zA-Z][_a-zA-Z0-9]*$")
	reserved   = sets.New("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let",
		"loop", "package", "namespace", "return", "var", "void", "while")
)

func (c *policyChecks) variable(compiler *plugincel.CompositedCompiler, v admissionv1.Variable, path *field.Path) (problems field.ErrorList) {
	if strings.TrimSpace(v.Name) == "" {
		problems = append(problems, field.Required(path.Child("name"), "name is not specified"))
	} else if !identifier.MatchString(v.Name) || reserved.Has(v.Name) {
		problems = append(problems, field.Invalid(path.Child("name"), v.Name, "must be a valid CEL identifier"))
	}
	if strings.TrimSpace(v.Expression) == "" {
		return append(problems, field.Required(path.Child("expression"), "expression is not specified"))
	}
	e := &Variable{Expression{v.Expression, AnyTypes}, v.Name}
	return append(problems, compilation(compiler.CompileAndStoreVariable(e, c.variables, environmentType(c.known(v.Expression))), e, path.Child("expression"))...)
}

func (c *policyChecks) validation(v admissionv1.Validation, path *field.Path) (problems field.ErrorList) {
	if strings.TrimSpace(v.Expression) == "" {
		problems = append(problems, field.Required(path.Child("expression"), "expression is not specified"))
	} else {
		problems = append(problems, compiled(c.compiler, &Expression{v.Expression, BoolTypes}, c.variables, c.known(v.Expression), path.Child("expression"))...)
	}
	const blank = "must be non-empty if specified"
	if message := strings.TrimSpace(v.MessageExpression); v.MessageExpression != "" && message == "" {
		problems = append(problems, field.Invalid(path.Child("messageExpression"), v.MessageExpression, blank))
	} else if message != "" {
		known := slices.ContainsFunc(c.old.Validations, func(old admissionv1.Validation) bool { return old.MessageExpression == v.MessageExpression })
		problems = append(problems, compiled(c.compiler, &Expression{v.MessageExpression, StringTypes}, c.message, known, path.Child("messageExpression"))...)
	}
	if message := strings.TrimSpace(v.Message); v.Message != "" && message == "" {
		problems = append(problems, field.Invalid(path.Child("message"), v.Message, blank))
	} else if strings.ContainsAny(message, "\n\r") {
		problems = append(problems, field.Invalid(path.Child("message"), v.Message, "must not contain line breaks"))
	}
	return append(problems, givenOneOf(path.Child("reason"), v.Reason, validationReasons)...)
}

func (c *policyChecks) annotation(policy string, annotation admissionv1.AuditAnnotation, path *field.Path) (problems field.ErrorList) {
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
		known := slices.ContainsFunc(c.old.AuditAnnotations, func(old admissionv1.AuditAnnotation) bool { return old.ValueExpression == annotation.ValueExpression })
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
		problems = append(problems, field.Invalid(path.Child("kind"), kind.Kind, "may have mixed case, but should otherwise match: "+strings.Join(messages, ",")))
	}
	return problems
}

func validateMatching(match *admissionv1.MatchResources, path *field.Path) (problems field.ErrorList) {
	if match == nil {
		return nil
	}
	problems = givenOneOf(path.Child("matchPolicy"), match.MatchPolicy, matchPolicies)
	problems = append(problems, metav1validation.ValidateLabelSelector(match.NamespaceSelector, metav1validation.LabelSelectorValidationOptions{}, path.Child("namespaceSelector"))...)
	problems = append(problems, metav1validation.ValidateLabelSelector(match.ObjectSelector, metav1validation.LabelSelectorValidationOptions{}, path.Child("objectSelector"))...)
	for name, rules := range inOrder(as("resourceRules", match.ResourceRules), as("excludeResourceRules", match.ExcludeResourceRules)) {
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

func validatePolicyStatus(status *admissionv1.ValidatingAdmissionPolicyStatus, path *field.Path) (problems field.ErrorList) {
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

// PolicyBindingKind is ValidatingAdmissionPolicyBinding.
func PolicyBindingKind() Kind {
	return Kind{
		GVK: AdmissionV1.WithKind("ValidatingAdmissionPolicyBinding"), Resource: "validatingadmissionpolicybindings", Categories: apiExtensions,
		Columns: policyBindingColumns(func(object runtime.Object) (string, *admissionv1.ParamRef) {
			spec := object.(*admissionv1.ValidatingAdmissionPolicyBinding).Spec
			return spec.PolicyName, spec.ParamRef
		}),
		Rules: Rules{
			Create: func(object runtime.Object) { must.Access(object).SetGeneration(1) },
			Update: func(object, old runtime.Object) {
				binding, was := object.(*admissionv1.ValidatingAdmissionPolicyBinding), old.(*admissionv1.ValidatingAdmissionPolicyBinding)
				if !equality.Semantic.DeepEqual(binding.Spec, was.Spec) {
					binding.Generation = was.Generation + 1
				}
			},
			Validate: func(object runtime.Object) field.ErrorList {
				return append(validateAdmissionMetadata(object, true), validatePolicyBinding(&object.(*admissionv1.ValidatingAdmissionPolicyBinding).Spec)...)
			},
			ValidateUpdate: func(object, _ runtime.Object) field.ErrorList {
				return append(validateAdmissionMetadata(object, false), validatePolicyBinding(&object.(*admissionv1.ValidatingAdmissionPolicyBinding).Spec)...)
			},
		},
	}
}

func policyBindingColumns(of func(object runtime.Object) (policy string, params *admissionv1.ParamRef)) []Column {
	return []Column{
		Col("PolicyName", "string", "PolicyName indicates the policy definition which the policy binding binded to", func(object runtime.Object) any {
			policy, _ := of(object)
			return policy
		}),
		Col("ParamRef", "string", "ParamRef indicates the param resource which sets the configuration param", func(object runtime.Object) any {
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

// validateBound checks what bindings of both kinds have.
func validateBound(policy string, params *admissionv1.ParamRef, match *admissionv1.MatchResources, path *field.Path) (problems field.ErrorList) {
	if policy == "" {
		problems = append(problems, field.Required(path.Child("policyName"), ""))
	} else {
		problems = append(problems, invalid(path.Child("policyName"), policy, validation.NameIsDNSSubdomain(policy, false))...)
	}
	problems = append(problems, validateParamRef(params, path.Child("paramRef"))...)
	return append(problems, validateMatching(match, path.Child("matchResources"))...)
}

func validatePolicyBinding(spec *admissionv1.ValidatingAdmissionPolicyBindingSpec) field.ErrorList {
	path := field.NewPath("spec")
	problems := validateBound(spec.PolicyName, spec.ParamRef, spec.MatchResources, path)
	actions := path.Child("validationActions")
	for i := range spec.ValidationActions {
		problems = append(problems, givenOneOf(actions.Index(i), &spec.ValidationActions[i], validationActions)...)
		if slices.Contains(spec.ValidationActions[:i], spec.ValidationActions[i]) {
			problems = append(problems, field.Duplicate(actions.Index(i), spec.ValidationActions[i]))
		}
	}
	if slices.Contains(spec.ValidationActions, admissionv1.Deny) && slices.Contains(spec.ValidationActions, admissionv1.Warn) {
		problems = append(problems, field.Invalid(actions, spec.ValidationActions, "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)"))
	}
	if len(spec.ValidationActions) == 0 {
		problems = append(problems, field.Required(actions, ""))
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
	problems = append(problems, metav1validation.ValidateLabelSelector(ref.Selector, metav1validation.LabelSelectorValidationOptions{}, path.Child("selector"))...)
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
