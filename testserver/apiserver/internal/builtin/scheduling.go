package builtin

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (c *podChecks) affinity(at *field.Path) {
	affinity := c.spec.Affinity
	if affinity == nil {
		return
	}
	const required, preferred = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
	if node := affinity.NodeAffinity; node != nil {
		here := at.Child("nodeAffinity")
		if node.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			c.nodeSelector(node.RequiredDuringSchedulingIgnoredDuringExecution, here.Child(required))
		}
		for i, term := range node.PreferredDuringSchedulingIgnoredDuringExecution {
			here := here.Child(preferred).Index(i)
			c.weight(term.Weight, here)
			c.nodeTerm(term.Preference, here.Child("preference"), true)
		}
	}
	terms := func(at *field.Path, must []corev1.PodAffinityTerm, should []corev1.WeightedPodAffinityTerm) {
		for i, term := range must {
			c.podTerm(term, at.Child(required).Index(i))
		}
		for i, term := range should {
			c.weight(term.Weight, at.Child(preferred).Index(i))
			c.podTerm(term.PodAffinityTerm, at.Child(preferred).Index(i).Child("podAffinityTerm"))
		}
	}
	if pod := affinity.PodAffinity; pod != nil {
		terms(at.Child("podAffinity"), pod.RequiredDuringSchedulingIgnoredDuringExecution, pod.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if pod := affinity.PodAntiAffinity; pod != nil {
		terms(at.Child("podAntiAffinity"), pod.RequiredDuringSchedulingIgnoredDuringExecution, pod.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

func (c *podChecks) weight(weight int32, at *field.Path) {
	if weight <= 0 || weight > 100 {
		c.invalid(at.Child("weight"), weight, "must be in the range 1-100")
	}
}

func (f *Findings) nodeSelector(selector *corev1.NodeSelector, at *field.Path) {
	at = at.Child("nodeSelectorTerms")
	if len(selector.NodeSelectorTerms) == 0 {
		f.Required(at, "must have at least one node selector term")
	}
	for i, term := range selector.NodeSelectorTerms {
		f.nodeTerm(term, at.Index(i), false)
	}
}

func (f *Findings) nodeTerm(term corev1.NodeSelectorTerm, at *field.Path, lenient bool) {
	for i, expression := range term.MatchExpressions {
		here := at.Child("matchExpressions").Index(i)
		switch expression.Operator {
		case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
			if len(expression.Values) == 0 {
				f.Required(here.Child("values"), "must be specified when `operator` is 'In' or 'NotIn'")
			}
		case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
			if len(expression.Values) > 0 {
				f.forbidden(here.Child("values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
			}
		case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
			if len(expression.Values) != 1 {
				f.Required(here.Child("values"), "must be specified single value when `operator` is 'Lt' or 'Gt'")
			}
		default:
			f.invalid(here.Child("operator"), expression.Operator, "not a valid selector operator")
		}
		f.labelName(here.Child("key"), expression.Key)
		for j, value := range expression.Values {
			if !lenient {
				f.invalid(here.Child("values").Index(j), value, utilvalidation.IsValidLabelValue(value)...)
			}
		}
	}
	for i, expression := range term.MatchFields {
		here := at.Child("matchFields").Index(i)
		switch expression.Operator {
		case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
			if len(expression.Values) != 1 {
				f.Required(here.Child("values"), "must be only one value when `operator` is 'In' or 'NotIn' for node field selector")
			}
		default:
			f.invalid(here.Child("operator"), expression.Operator, "not a valid selector operator")
		}
		if expression.Key != metav1.ObjectNameField {
			f.invalid(here.Child("key"), expression.Key, "not a valid field selector key")
			continue
		}
		for j, value := range expression.Values {
			f.subdomain(here.Child("values").Index(j), value)
		}
	}
}

func (c *podChecks) podTerm(term corev1.PodAffinityTerm, at *field.Path) {
	c.selector(at.Child("labelSelector"), term.LabelSelector)
	c.selector(at.Child("namespaceSelector"), term.NamespaceSelector)
	for _, name := range term.Namespaces {
		c.label(at.Child("namespace"), name)
	}
	c.labelKeys(term.MatchLabelKeys, term.MismatchLabelKeys, term.LabelSelector, at)
	if term.TopologyKey == "" {
		c.Required(at.Child("topologyKey"), "can not be empty")
	}
	c.labelName(at.Child("topologyKey"), term.TopologyKey)
}

// labelKeys checks keys whose labels of the pod are in the selector by now, if it is no template.
func (c *podChecks) labelKeys(match, mismatch []string, selector *metav1.LabelSelector, at *field.Path) {
	names := func(keys []string, at *field.Path) {
		if len(keys) > 0 && selector == nil {
			c.forbidden(at, "must not be specified when labelSelector is not set")
			return
		}
		for i, key := range keys {
			c.labelName(at.Index(i), key)
		}
	}
	names(match, at.Child("matchLabelKeys"))
	names(mismatch, at.Child("mismatchLabelKeys"))
	if selector != nil {
		last, selected := map[string]int{}, sets.KeySet(selector.MatchLabels)
		for i, key := range match {
			last[key] = i
		}
		for _, expression := range selector.MatchExpressions {
			if i, is := last[expression.Key]; is && selected.Has(expression.Key) {
				c.invalid(at.Index(i), expression.Key, "exists in both matchLabelKeys and labelSelector")
			}
			selected.Insert(expression.Key)
		}
	}
	for i, key := range match {
		if slices.Contains(mismatch, key) {
			c.invalid(at.Child("matchLabelKeys").Index(i), key, "exists in both matchLabelKeys and mismatchLabelKeys")
		}
	}
}

// selectLabels puts the labels of a new pod that its affinities and spreads name by their keys into the selectors of these.
func selectLabels(pod *corev1.Pod) {
	add := func(selector *metav1.LabelSelector, operator metav1.LabelSelectorOperator, keys []string) {
		for _, key := range keys {
			if value, ok := pod.Labels[key]; ok && selector != nil {
				selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: []string{value}})
			}
		}
	}
	terms := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		for i := range preferred {
			required = append(required, preferred[i].PodAffinityTerm)
		}
		for _, term := range required {
			add(term.LabelSelector, metav1.LabelSelectorOpIn, term.MatchLabelKeys)
			add(term.LabelSelector, metav1.LabelSelectorOpNotIn, term.MismatchLabelKeys)
		}
	}
	if affinity := pod.Spec.Affinity; affinity != nil && affinity.PodAffinity != nil {
		terms(slices.Clone(affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution), affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if affinity := pod.Spec.Affinity; affinity != nil && affinity.PodAntiAffinity != nil {
		terms(slices.Clone(affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution), affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	for _, constraint := range pod.Spec.TopologySpreadConstraints {
		add(constraint.LabelSelector, metav1.LabelSelectorOpIn, constraint.MatchLabelKeys)
	}
}

func (c *podChecks) topology(at *field.Path) {
	for i, constraint := range c.spec.TopologySpreadConstraints {
		here := at.Index(i)
		c.positive(here.Child("maxSkew"), int64(constraint.MaxSkew))
		if constraint.TopologyKey == "" {
			c.Required(here.Child("topologyKey"), "can not be empty")
		}
		oneOf(&c.Findings, here.Child("whenUnsatisfiable"), constraint.WhenUnsatisfiable, corev1.DoNotSchedule, corev1.ScheduleAnyway)
		for _, other := range c.spec.TopologySpreadConstraints[i+1:] {
			if other.TopologyKey == constraint.TopologyKey && other.WhenUnsatisfiable == constraint.WhenUnsatisfiable {
				c.Add(field.Duplicate(here.Child("{topologyKey, whenUnsatisfiable}"), fmt.Sprintf("{%v, %v}", constraint.TopologyKey, constraint.WhenUnsatisfiable)))
				break
			}
		}
		if domains := constraint.MinDomains; domains != nil {
			c.positive(here.Child("minDomains"), int64(*domains))
			if constraint.WhenUnsatisfiable != corev1.DoNotSchedule {
				c.invalid(here.Child("minDomains"), domains, fmt.Sprintf("can only use minDomains if whenUnsatisfiable=%s, not %s", corev1.DoNotSchedule, constraint.WhenUnsatisfiable))
			}
		}
		for name, policy := range inOrder(as("nodeAffinityPolicy", constraint.NodeAffinityPolicy), as("nodeTaintsPolicy", constraint.NodeTaintsPolicy)) {
			if policy != nil {
				oneOf(&c.Findings, here.Child(name), *policy, corev1.NodeInclusionPolicyIgnore, corev1.NodeInclusionPolicyHonor)
			}
		}
		c.labelKeys(constraint.MatchLabelKeys, nil, constraint.LabelSelector, here)
		c.selector(here.Child("labelSelector"), constraint.LabelSelector)
	}
}

func validateTolerations(tolerations []corev1.Toleration, at *field.Path) field.ErrorList {
	var f Findings
	for i, toleration := range tolerations {
		here := at.Index(i)
		if toleration.Key != "" {
			f.labelName(here.Child("key"), toleration.Key)
		} else if toleration.Operator != corev1.TolerationOpExists {
			f.invalid(here.Child("operator"), toleration.Operator, "operator must be Exists when `key` is empty, which means \"match all values and all keys\"")
		}
		if toleration.TolerationSeconds != nil && toleration.Effect != corev1.TaintEffectNoExecute {
			f.invalid(here.Child("effect"), toleration.Effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
		}
		switch toleration.Operator {
		case corev1.TolerationOpEqual, "":
			if messages := utilvalidation.IsValidLabelValue(toleration.Value); len(messages) > 0 {
				f.invalid(here.Child("operator"), toleration.Value, strings.Join(messages, ";"))
			}
		case corev1.TolerationOpExists:
			if toleration.Value != "" {
				f.invalid(here.Child("operator"), toleration.Value, "value must be empty when `operator` is 'Exists'")
			}
		case corev1.TolerationOpLt, corev1.TolerationOpGt:
			f.Add(field.NotSupported(here.Child("operator"), toleration.Operator, []corev1.TolerationOperator{corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpLt, corev1.TolerationOpGt}))
		default:
			f.Add(field.NotSupported(here.Child("operator"), toleration.Operator, []corev1.TolerationOperator{corev1.TolerationOpEqual, corev1.TolerationOpExists}))
		}
		if toleration.Effect != "" {
			oneOfListed(&f, here.Child("effect"), toleration.Effect, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)
		}
	}
	return f.List
}
