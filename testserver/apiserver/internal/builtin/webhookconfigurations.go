package builtin

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
)

// This file contains the kinds of webhook configurations of admissionregistration.k8s.io/v1. The server enforces them.

// AdmissionV1 is admissionregistration.k8s.io/v1.
var AdmissionV1 = admissionv1.SchemeGroupVersion

var apiExtensions = []string{"api-extensions"}

func countColumn(name, description string, count func(object runtime.Object) int) Column {
	return Col(name, "integer", description, func(object runtime.Object) any { return int64(count(object)) })
}

// MutatingHookKind is the kind MutatingWebhookConfiguration.
var MutatingHookKind = hookKind("MutatingWebhookConfiguration", "mutatingwebhookconfigurations",
	func(object runtime.Object) []Hook {
		return MutatingHooks(object.(*admissionv1.MutatingWebhookConfiguration))
	})

// ValidatingHookKind is the kind ValidatingWebhookConfiguration.
var ValidatingHookKind = hookKind("ValidatingWebhookConfiguration", "validatingwebhookconfigurations",
	func(object runtime.Object) []Hook {
		return ValidatingHooks(object.(*admissionv1.ValidatingWebhookConfiguration))
	})

func hookKind(kind, resource string, hooks func(object runtime.Object) []Hook) Kind {
	return Kind{
		GVK: AdmissionV1.WithKind(kind), Resource: resource, Categories: apiExtensions,
		Columns: []Column{
			countColumn("Webhooks", "Webhooks indicates the number of webhooks registered in this configuration",
				func(object runtime.Object) int { return len(hooks(object)) }),
			SinceColumn,
		},
		Rules: hookRules(hooks),
	}
}

// Hook is a validating or a mutating webhook. It is immutable.
type Hook struct {
	admissionv1.ValidatingWebhook
	Mutating      bool
	Configuration string
	Index         int
	Reinvocation  *admissionv1.ReinvocationPolicyType // only for mutating webhooks
}

// ValidatingHooks returns the webhooks of a configuration in order.
func ValidatingHooks(configuration *admissionv1.ValidatingWebhookConfiguration) (hooks []Hook) {
	for i, w := range configuration.Webhooks {
		hooks = append(hooks, Hook{ValidatingWebhook: w, Configuration: configuration.Name, Index: i})
	}
	return hooks
}

// MutatingHooks returns the webhooks of a configuration in order.
func MutatingHooks(configuration *admissionv1.MutatingWebhookConfiguration) (hooks []Hook) {
	for i, w := range configuration.Webhooks {
		common := admissionv1.ValidatingWebhook{
			Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy,
			MatchPolicy: w.MatchPolicy, NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector,
			SideEffects: w.SideEffects, TimeoutSeconds: w.TimeoutSeconds,
			AdmissionReviewVersions: w.AdmissionReviewVersions, MatchConditions: w.MatchConditions,
		}
		hooks = append(hooks, Hook{ValidatingWebhook: common, Mutating: true, Configuration: configuration.Name, Index: i,
			Reinvocation: w.ReinvocationPolicy})
	}
	return hooks
}

// hookRules returns the rules of a configuration.
func hookRules(hooks func(object runtime.Object) []Hook) Rules {
	rules := admissionRules(func(object runtime.Object) any { return literally{hooks(object)} },
		func(object, old runtime.Object) field.ErrorList {
			if old == nil {
				return validateHooks(hooks(object), nil)
			}
			return validateHooks(hooks(object), hooks(old))
		})
	rules.Warnings = func(_ context.Context, object, _ runtime.Object) (warnings []string) {
		for i, h := range hooks(object) {
			for j := range h.Rules {
				warnings = append(warnings, warnReviews(field.NewPath("webhooks").Index(i).Child("rules").Index(j),
					&h.Rules[j].Rule)...)
			}
		}
		return warnings
	}
	return rules.VersionedRules()
}

// admissionRules defines the rules of a webhook configuration, a policy or a binding. validate receives no old object
// if the object is created.
func admissionRules[T runtime.Object](spec func(object T) any, validate func(object, old T) field.ErrorList) Own[T] {
	return Own[T]{
		Cluster: true, Conditional: true, Spec: spec,
		Validate: func(_ context.Context, object T) field.ErrorList {
			var none T
			return append(validateAdmissionMetadata(object, true), validate(object, none)...)
		},
		ValidateUpdate: func(_ context.Context, object, old T) field.ErrorList {
			return append(validateAdmissionMetadata(object, false), validate(object, old)...)
		},
	}
}

// Reviews contains the resources that are not stored and for which no webhooks are called.
var Reviews = sets.New(
	schema.GroupResource{Group: "authentication.k8s.io", Resource: "selfsubjectreviews"},
	schema.GroupResource{Group: "authentication.k8s.io", Resource: "tokenreviews"},
	schema.GroupResource{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"},
	schema.GroupResource{Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"},
	schema.GroupResource{Group: "authorization.k8s.io", Resource: "selfsubjectrulesreviews"},
	schema.GroupResource{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"},
)

// warnReviews returns a warning for each of the Reviews in a rule.
func warnReviews(path *field.Path, rule *admissionv1.Rule) (warnings []string) {
	if slices.Contains(rule.APIGroups, "*") || slices.Contains(rule.Resources, "*") {
		return nil
	}
	for _, group := range rule.APIGroups {
		for _, name := range rule.Resources {
			if resource := (schema.GroupResource{Group: group, Resource: name}); Reviews.Has(resource) {
				warnings = append(warnings, fmt.Sprintf("%s: %s is excluded from admission webhooks; this rule will have no effect",
					path, resource))
			}
		}
	}
	return slices.Compact(warnings)
}

// staticSuffix is the suffix in the names of configurations that are read from files.
const staticSuffix = ".static.k8s.io"

func validateAdmissionMetadata(object runtime.Object, created bool) field.ErrorList {
	path, accessor := field.NewPath("metadata"), must.Access(object)
	problems := validation.ValidateObjectMetaAccessor(accessor, false, validation.NameIsDNSSubdomain, path)
	if created && strings.HasSuffix(accessor.GetName(), staticSuffix) {
		problems = append(problems, field.Invalid(path.Child("name"), accessor.GetName(),
			fmt.Sprintf("names ending with %q are reserved for static manifest-based configurations and cannot be managed via "+
				"the API", staticSuffix)))
	}
	return problems
}

// validateHooks validates the webhooks of a configuration. Errors that the old webhooks already have are tolerated.
func validateHooks(hooks, old []Hook) (problems field.ErrorList) {
	was, names := leniencyOf(old), sets.New[string]()
	unchanged := slices.EqualFunc(hooks, old,
		func(a, b Hook) bool { return reflect.DeepEqual(a.MatchConditions, b.MatchConditions) })
	for i := range hooks {
		h, path := &hooks[i], field.NewPath("webhooks").Index(i)
		problems = append(problems, validateHook(h, was, path)...)
		if !unchanged {
			problems = append(problems, validateConditions(h.MatchConditions, was.conditions, false,
				path.Child("matchConditions"))...)
		}
		problems = append(problems, validateReviewVersions(h.AdmissionReviewVersions, was.versions,
			path.Child("admissionReviewVersions"))...)
		if names.Has(h.Name) && !was.names && h.Name != "" {
			problems = append(problems, field.Duplicate(path.Child("name"), h.Name))
		}
		names.Insert(h.Name)
	}
	return problems
}

// leniency records the errors that are tolerated because the old object has them.
type leniency struct {
	names, versions, sideEffects, selectors bool
	conditions                              sets.Set[string] // match conditions by their expressions
}

func leniencyOf(old []Hook) leniency {
	was, names := leniency{conditions: sets.New[string]()}, sets.New[string]()
	for i := range old {
		h := &old[i]
		was.names = was.names || names.Has(h.Name)
		names.Insert(h.Name)
		was.versions = was.versions || len(h.AdmissionReviewVersions) > 0 && !slices.ContainsFunc(h.AdmissionReviewVersions,
			IsReviewVersion)
		was.sideEffects = was.sideEffects || h.SideEffects == nil || !slices.Contains(noSideEffects, *h.SideEffects)
		was.selectors = was.selectors || len(validateSelectors(h.NamespaceSelector, h.ObjectSelector,
			metav1validation.LabelSelectorValidationOptions{}, nil)) > 0
		for _, c := range h.MatchConditions {
			was.conditions.Insert(c.Expression)
		}
	}
	return was
}

var (
	reviewVersions = []string{"v1", "v1beta1"}
	noSideEffects  = []admissionv1.SideEffectClass{admissionv1.SideEffectClassNone,
		admissionv1.SideEffectClassNoneOnDryRun}
	sideEffects = []admissionv1.SideEffectClass{admissionv1.SideEffectClassNone,
		admissionv1.SideEffectClassNoneOnDryRun, admissionv1.SideEffectClassSome, admissionv1.SideEffectClassUnknown}
	failurePolicies = []admissionv1.FailurePolicyType{admissionv1.Fail, admissionv1.Ignore}
	matchPolicies   = []admissionv1.MatchPolicyType{admissionv1.Equivalent, admissionv1.Exact}
	reinvocations   = []admissionv1.ReinvocationPolicyType{admissionv1.IfNeededReinvocationPolicy,
		admissionv1.NeverReinvocationPolicy}
	ruleOperations = []admissionv1.OperationType{admissionv1.OperationAll, admissionv1.Connect, admissionv1.Create,
		admissionv1.Delete, admissionv1.Update}
	scopes = []admissionv1.ScopeType{admissionv1.AllScopes, admissionv1.ClusterScope,
		admissionv1.NamespacedScope}
	validationActions = []admissionv1.ValidationAction{admissionv1.Audit, admissionv1.Deny, admissionv1.Warn}
	validationReasons = []metav1.StatusReason{metav1.StatusReasonForbidden, metav1.StatusReasonInvalid,
		metav1.StatusReasonRequestEntityTooLarge}
)

// IsReviewVersion reports whether a version is valid for AdmissionReviews.
func IsReviewVersion(version string) bool { return slices.Contains(reviewVersions, version) }

// givenOneOf checks that a value is unset or one of the permitted values.
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
		problems = append(problems, field.Invalid(path.Child("timeoutSeconds"), *h.TimeoutSeconds,
			"the timeout value must be between 1 and 30 seconds"))
	}
	options := metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: was.selectors}
	problems = append(problems, validateSelectors(h.NamespaceSelector, h.ObjectSelector, options, path)...)
	problems = append(problems, givenOneOf(path.Child("reinvocationPolicy"), h.Reinvocation, reinvocations)...)
	return append(problems, validateClient(h.ClientConfig, path.Child("clientConfig"))...)
}

// validateSelectors validates the selectors of namespaces and objects.
func validateSelectors(namespaces, objects *metav1.LabelSelector,
	options metav1validation.LabelSelectorValidationOptions, path *field.Path) field.ErrorList {
	return append(metav1validation.ValidateLabelSelector(namespaces, options, path.Child("namespaceSelector")),
		metav1validation.ValidateLabelSelector(objects, options, path.Child("objectSelector"))...)
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
		return webhook.ValidateWebhookService(path.Child("service"), service.Name, service.Namespace, service.Path,
			*service.Port)
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
		problems = append(problems, field.Invalid(path, versions, "must include at least one of "+strings.Join(reviewVersions,
			", ")))
	}
	return problems
}

func validateOperations(rule *admissionv1.RuleWithOperations, path *field.Path) (problems field.ErrorList) {
	if len(rule.Operations) == 0 {
		problems = append(problems, field.Required(path.Child("operations"), ""))
	}
	if len(rule.Operations) > 1 && slices.Contains(rule.Operations, admissionv1.OperationAll) {
		problems = append(problems, field.Invalid(path.Child("operations"), rule.Operations,
			"if '*' is present, must not specify other operations"))
	}
	for i := range rule.Operations {
		problems = append(problems, givenOneOf(path.Child("operations").Index(i), &rule.Operations[i], ruleOperations)...)
	}
	alone := func(name, what string, values []string) {
		if len(values) == 0 {
			problems = append(problems, field.Required(path.Child(name), ""))
		}
		if len(values) > 1 && slices.Contains(values, "*") {
			problems = append(problems, field.Invalid(path.Child(name), values, "if '*' is present, must not specify other API "+
				what))
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

// validateRuleResources checks that a rule does not contain a resource twice, either by its name or through an earlier
// wildcard.
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
			problems = append(problems, field.Invalid(path.Index(i), resource,
				fmt.Sprintf("if '%s/*' is present, must not specify %s", name, resource)))
		}
		if ofAll.Has(part) {
			problems = append(problems, field.Invalid(path.Index(i), resource,
				fmt.Sprintf("if '*/%s' is present, must not specify %s", part, resource)))
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
		problems = append(problems, field.Invalid(path, resources,
			"if '*' is present, must not specify other resources without subresources"))
	}
	return problems
}
