package builtin

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// LimitRanges are the kind LimitRange.
func LimitRanges() Kind {
	return Kind{
		GVK: CoreV1.WithKind("LimitRange"), Resource: "limitranges", Short: []string{"limits"}, Namespaced: true,
		Rules: Rules{
			Unconditional: true, Creates: true, Unnamed: true,
			Validate:       Typed1(validateLimitRange),
			ValidateUpdate: Typed2(func(l, _ *corev1.LimitRange) field.ErrorList { return validateLimitRange(l) }),
		},
	}
}

func validateLimitRange(l *corev1.LimitRange) field.ErrorList {
	f, at := Findings{ValidateMetadata(&l.ObjectMeta, true, validation.NameIsDNSSubdomain)}, field.NewPath("spec", "limits")
	types := map[corev1.LimitType]bool{}
	for i, limit := range l.Spec.Limits {
		here := at.Index(i)
		if messages := utilvalidation.IsQualifiedName(string(limit.Type)); len(messages) > 0 {
			f.invalid(here.Child("type"), limit.Type, messages...)
		} else if !strings.Contains(string(limit.Type), "/") && limit.Type != corev1.LimitTypePod && limit.Type != corev1.LimitTypeContainer && limit.Type != corev1.LimitTypePersistentVolumeClaim {
			f.invalid(here.Child("type"), limit.Type, "must be a standard limit type or fully qualified")
		}
		if types[limit.Type] {
			f.Add(field.Duplicate(here.Child("type"), limit.Type))
		}
		types[limit.Type] = true
		f.limit(limit, here)
	}
	return f.List
}

func (f *Findings) limit(limit corev1.LimitRangeItem, at *field.Path) {
	names := map[corev1.ResourceName]bool{}
	check := func(field string, list corev1.ResourceList) {
		for _, name := range sortedMap(list) {
			names[name] = true
			if limit.Type == corev1.LimitTypePod || limit.Type == corev1.LimitTypeContainer {
				containerResourceName(f, at.Child(field).Key(string(name)), name)
			} else {
				f.resourceName(at.Child(field).Key(string(name)), name)
			}
		}
	}
	check("max", limit.Max)
	check("min", limit.Min)
	usual, requested := limit.Default, limit.DefaultRequest
	if limit.Type == corev1.LimitTypePod {
		if len(usual) > 0 {
			f.forbidden(at.Child("default"), "may not be specified when `type` is 'Pod'")
		}
		if len(requested) > 0 {
			f.forbidden(at.Child("defaultRequest"), "may not be specified when `type` is 'Pod'")
		}
		usual, requested = nil, nil
	}
	check("default", usual)
	check("defaultRequest", requested)
	if limit.Type == corev1.LimitTypePersistentVolumeClaim {
		_, least := limit.Min[corev1.ResourceStorage]
		if _, most := limit.Max[corev1.ResourceStorage]; !least && !most {
			f.Required(at.Child("limits"), "either minimum or maximum storage value is required, but neither was provided")
		}
	}
	check("maxLimitRequestRatio", limit.MaxLimitRequestRatio)
	for _, name := range sortedMap(names) {
		f.limitOrder(name, limit, usual, requested, at)
	}
}

func (f *Findings) limitOrder(name corev1.ResourceName, limit corev1.LimitRangeItem, usual, requested corev1.ResourceList, at *field.Path) {
	least, hasLeast := limit.Min[name]
	most, hasMost := limit.Max[name]
	normal, hasNormal := usual[name]
	request, hasRequest := requested[name]
	ratio, hasRatio := limit.MaxLimitRequestRatio[name]
	wrong := func(is bool, field string, value resource.Quantity, format string, arguments ...any) {
		if is {
			f.invalid(at.Child(field).Key(string(name)), value, fmt.Sprintf(format, arguments...))
		}
	}
	wrong(hasLeast && hasMost && least.Cmp(most) > 0, "min", least, "min value %s is greater than max value %s", least.String(), most.String())
	wrong(hasRequest && hasLeast && least.Cmp(request) > 0, "defaultRequest", request, "min value %s is greater than default request value %s", least.String(), request.String())
	wrong(hasRequest && hasMost && request.Cmp(most) > 0, "defaultRequest", request, "default request value %s is greater than max value %s", request.String(), most.String())
	wrong(hasRequest && hasNormal && request.Cmp(normal) > 0, "defaultRequest", request, "default request value %s is greater than default limit value %s", request.String(), normal.String())
	wrong(hasNormal && hasLeast && least.Cmp(normal) > 0, "default", least, "min value %s is greater than default value %s", least.String(), normal.String())
	wrong(hasNormal && hasMost && normal.Cmp(most) > 0, "default", most, "default value %s is greater than max value %s", normal.String(), most.String())
	wrong(hasRatio && ratio.Cmp(resource.MustParse("1")) < 0, "maxLimitRequestRatio", ratio, "ratio %s is less than 1", ratio.String())
	whole := inMilli(most, least)
	wrong(hasRatio && hasLeast && hasMost && float64(ratio.MilliValue())/1000 > whole, "maxLimitRequestRatio", ratio, "ratio %s is greater than max/min = %f", ratio.String(), whole)
	wrong(!mayOvercommit(name) && hasNormal && hasRequest && normal.Cmp(request) != 0, "defaultRequest", request, "default value %s must equal to defaultRequest value %s in %s", normal.String(), request.String(), name)
}

// ResourceQuotas are the kind ResourceQuota.
func ResourceQuotas() Kind {
	type quota = corev1.ResourceQuota
	cells := func(q *quota, limits bool) string {
		var text []string
		for _, name := range sortedMap(q.Status.Hard) {
			used, hard := q.Status.Used[name], q.Status.Hard[name]
			if strings.HasPrefix(string(name), "limits.") == limits {
				text = append(text, fmt.Sprintf("%s: %s/%s", name, used.String(), hard.String()))
			}
		}
		return strings.Join(text, ", ")
	}
	return Kind{
		GVK: CoreV1.WithKind("ResourceQuota"), Resource: "resourcequotas", Short: []string{"quota"}, Namespaced: true, Returned: true,
		Columns: []Column{
			Col("Request", "string", "Request represents a minimum amount of cpu/memory that a container may consume.", func(q *quota) any { return cells(q, false) }),
			Col("Limit", "string", "Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.", func(q *quota) any { return cells(q, true) }),
			SinceColumn,
		},
		Rules: Rules{
			Unconditional: true, Reset: []string{"status"},
			Create: Change1(func(q *quota) { q.Status = corev1.ResourceQuotaStatus{} }),
			Update: Change2(func(q, old *quota) { q.Status = old.Status }),
			Validate: Typed1(func(q *quota) field.ErrorList {
				f := Findings{ValidateMetadata(&q.ObjectMeta, true, validation.NameIsDNSSubdomain)}
				f.quota(q.Spec, field.NewPath("spec"))
				return f.List
			}),
			ValidateUpdate: Typed2(func(q, old *quota) field.ErrorList {
				f, at := Findings{ValidateMetadataUpdate(q, old)}, field.NewPath("spec")
				f.quota(q.Spec, at)
				if !sets.New(q.Spec.Scopes...).Equal(sets.New(old.Spec.Scopes...)) {
					f.invalid(at.Child("scopes"), q.Spec.Scopes, validation.FieldImmutableErrorMsg)
				}
				return f.List
			}),
			Warnings:       Typed1(quotaWarnings),
			UpdateWarnings: func(runtime.Object, runtime.Object) []string { return nil },
		},
		Status: &Rules{
			Unconditional: true, Reset: []string{"spec"},
			Update: Change2(func(q, old *quota) { q.Spec = old.Spec }),
			ValidateUpdate: Typed2(func(q, old *quota) field.ErrorList {
				f, at := Findings{ValidateMetadataUpdate(q, old)}, field.NewPath("status")
				f.amounts(q.Status.Hard, at.Child("hard"))
				f.amounts(q.Status.Used, at.Child("used"))
				return f.List
			}),
		},
	}
}

func (f *Findings) amounts(list corev1.ResourceList, at *field.Path) {
	for _, name := range sortedMap(list) {
		here := at.Key(string(name))
		f.resourceName(here, name)
		if !strings.Contains(string(name), "/") && !standardQuota(name) && !isHugePages(name) && !strings.HasPrefix(string(name), "requests.hugepages-") {
			f.invalid(here, name, "must be a standard resource for quota")
		}
		f.quantity(here, name, list[name])
	}
}

func (f *Findings) quota(spec corev1.ResourceQuotaSpec, at *field.Path) {
	f.amounts(spec.Hard, at.Child("hard"))
	known := sets.New(spec.Scopes...)
	for _, scope := range spec.Scopes {
		switch scope {
		case corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort,
			corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopeCrossNamespacePodAffinity, corev1.ResourceQuotaScopeVolumeAttributesClass:
		default:
			f.invalid(at.Child("scopes"), spec.Scopes, "unsupported scope")
		}
		for _, name := range sortedMap(spec.Hard) {
			if of, ok := quotaScopes[scope]; ok && standardQuota(name) && !of.Has(name) {
				f.invalid(at.Child("scopes"), spec.Scopes, "unsupported scope applied to resource")
			}
		}
	}
	if known.HasAll(corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort) || known.HasAll(corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating) {
		f.invalid(at.Child("scopes"), spec.Scopes, "conflicting scopes")
	}
	if spec.ScopeSelector != nil {
		f.scopeSelector(spec, at.Child("scopeSelector"))
	}
}

// quotaScopes are those that a quota may have, and what resources each may be about.
var quotaScopes = map[corev1.ResourceQuotaScope]sets.Set[corev1.ResourceName]{
	corev1.ResourceQuotaScopeBestEffort: sets.New(corev1.ResourcePods), corev1.ResourceQuotaScopeNotBestEffort: podResources, corev1.ResourceQuotaScopeTerminating: podResources,
	corev1.ResourceQuotaScopeNotTerminating: podResources, corev1.ResourceQuotaScopePriorityClass: podResources, corev1.ResourceQuotaScopeCrossNamespacePodAffinity: podResources,
	corev1.ResourceQuotaScopeVolumeAttributesClass: sets.New(corev1.ResourcePersistentVolumeClaims, corev1.ResourceRequestsStorage),
}

var podResources = sets.New(corev1.ResourcePods, corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory)

func standardQuota(name corev1.ResourceName) bool {
	return standardResources.Has(name) && name != corev1.ResourceStorage
}

func (f *Findings) scopeSelector(spec corev1.ResourceQuotaSpec, at *field.Path) {
	at = at.Child("matchExpressions")
	known := sets.New[corev1.ResourceQuotaScope]()
	for _, one := range spec.ScopeSelector.MatchExpressions {
		of, supported := quotaScopes[one.ScopeName]
		if !supported {
			f.invalid(at.Child("scopeName"), one.ScopeName, "unsupported scope")
		}
		for _, name := range sortedMap(spec.Hard) {
			if standardQuota(name) && supported && !of.Has(name) {
				f.invalid(at, spec.ScopeSelector, "unsupported scope applied to resource")
			}
		}
		switch one.ScopeName {
		case corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort, corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
			if one.Operator != corev1.ScopeSelectorOpExists {
				f.invalid(at.Child("operator"), one.Operator, "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity")
			}
		}
		switch one.Operator {
		case corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn:
			if len(one.Values) == 0 {
				f.Required(at.Child("values"), "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector")
			}
		case corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist:
			if len(one.Values) > 0 {
				f.invalid(at.Child("values"), one.Values, "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector")
			}
		default:
			f.invalid(at.Child("operator"), one.Operator, "not a valid selector operator")
		}
		known.Insert(one.ScopeName)
	}
	if known.HasAll(corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort) || known.HasAll(corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating) {
		f.invalid(at, spec.Scopes, "conflicting scopes")
	}
}
