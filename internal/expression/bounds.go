package expression

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// container is a list or map that contains a rule.
type container struct {
	path  []string
	step  string // Items or Values
	often uint64 // its bound, or unbounded
}

// The keywords that bound values.
const (
	maxItems      = "maxItems"
	maxProperties = "maxProperties"
	maxLength     = "maxLength"
)

// costly is a rule with its estimated cost.
type costly struct {
	walk   *rulesWalk
	at     place
	schema *structural.Structural
	rule   string
	cost   uint64
}

// missing is a bound that a schema lacks.
type missing struct {
	keyword string
	path    []string // in objects
	// below is the path from the value of the rule to the part that lacks the bound. For a list or map that contains
	// the rule, above is its index instead.
	below []string
	above int
}

// mostCandidates limits how many missing bounds are tried: each requires several compilations of the rule.
const mostCandidates = 12

// mostBounds limits the number of bounds in a hint.
const mostBounds = 4

// roomForOthers is a bound for values if no single bound suffices.
const roomForOthers = 64

// hint suggests the missing bound that reduces the cost of the rule most, with the largest round value at which the
// cost is within the limit. If no single bound suffices, it suggests all bounds that suffice together.
func (c costly) hint(most uint64) string {
	if c.walk == nil {
		return costHint
	}
	candidates := c.candidates()
	bounds := make([]int64, len(candidates)) // 0 is unset
	var chosen []int
	for len(chosen) < mostBounds {
		best, least := -1, uint64(0)
		for i := range candidates {
			if bounds[i] != 0 {
				continue
			}
			bounds[i] = 1
			if cost := c.costWith(candidates, bounds); best < 0 || cost < least {
				best, least = i, cost
			}
			bounds[i] = 0
		}
		if best < 0 {
			return costHint
		}
		chosen = append(chosen, best)
		if bounds[best] = c.largest(candidates, bounds, best, most); least <= most {
			return describe(candidates, bounds, chosen)
		}
	}
	return costHint
}

// describe returns the text of a hint: the bound that dominates the cost, and values within the limit.
func describe(candidates []missing, bounds []int64, chosen []int) string {
	var texts []string
	for _, i := range chosen {
		text := fmt.Sprintf("%s=%d", candidates[i].keyword, bounds[i])
		if len(chosen) > 1 {
			text += " on " + fieldName(candidates[i].path)
		}
		texts = append(texts, text)
	}
	dominant := candidates[chosen[0]]
	return fmt.Sprintf("%s has no %s, which dominates the cost: the rule fits with %s", fieldName(dominant.path),
		dominant.keyword, strings.Join(texts, " and "))
}

// fieldName returns a path in objects as text.
func fieldName(path []string) string {
	if len(path) == 0 {
		return "the object"
	}
	return RuleProblem{Path: path}.Field()
}

// roundBounds are the values that a hint proposes, largest first.
var roundBounds = []int64{
	1_000_000, 500_000, 200_000, 100_000, 50_000, 20_000, 10_000, 5000, 2000, 1000, 500, 200, 100, 50, 20, 10, 5, 2, 1,
}

// largest returns the largest round value of a bound at which the cost is within the limit, or roomForOthers if no
// value is sufficient.
func (c costly) largest(candidates []missing, bounds []int64, of int, most uint64) int64 {
	bounds = slices.Clone(bounds)
	low, high := 0, len(roundBounds)
	for low < high {
		middle := (low + high) / 2
		bounds[of] = roundBounds[middle]
		if c.costWith(candidates, bounds) <= most {
			high = middle
		} else {
			low = middle + 1
		}
	}
	if low == len(roundBounds) {
		return roomForOthers
	}
	return roundBounds[low]
}

// costWith estimates the cost of the rule with bounds for some of the candidates.
func (c costly) costWith(candidates []missing, bounds []int64) uint64 {
	schema := c.schema
	times := uint64(1)
	above := slices.Clone(c.at.above)
	for i, most := range bounds {
		switch m := candidates[i]; {
		case most == 0:
		case m.below != nil:
			schema = withBound(schema, m.below, m.keyword, most)
		default:
			above[m.above].often = uint64(most)
		}
	}
	for _, in := range above {
		times = product(times, in.often)
	}
	only := *schema
	for _, rule := range c.schema.XValidations {
		if rule.Rule == c.rule {
			only.XValidations = apiextensionsv1.ValidationRules{rule}
			break
		}
	}
	results, err := schemacel.Compile(&only, model.SchemaDeclType(&only, c.at.isRoot), celconfig.PerCallLimit, c.walk.base,
		schemacel.NewExpressionsEnvLoader())
	if err != nil || len(results) != 1 {
		return math.MaxUint64
	}
	if times == unbounded {
		times = results[0].MaxCardinality
	}
	return product(results[0].MaxCost, times)
}

// withBound returns a schema in which a part has a bound. It shares the unchanged parts.
func withBound(s *structural.Structural, path []string, keyword string, most int64) *structural.Structural {
	changed := *s
	if len(path) == 0 {
		values := structural.ValueValidation{}
		if s.ValueValidation != nil {
			values = *s.ValueValidation
		}
		switch keyword {
		case maxItems:
			values.MaxItems = &most
		case maxProperties:
			values.MaxProperties = &most
		case maxLength:
			values.MaxLength = &most
		}
		changed.ValueValidation = &values
		return &changed
	}
	switch step, rest := path[0], path[1:]; step {
	case Items:
		changed.Items = withBound(s.Items, rest, keyword, most)
	case Values:
		changed.AdditionalProperties = &structural.StructuralOrBool{Structural: withBound(s.AdditionalProperties.Structural,
			rest, keyword, most)}
	default:
		child := s.Properties[step]
		changed.Properties = maps.Clone(s.Properties)
		changed.Properties[step] = *withBound(&child, rest, keyword, most)
	}
	return &changed
}

// candidates returns the bounds that are missing on the path to the rule, and in the parts of its value that the rule
// mentions.
func (c costly) candidates() []missing {
	var found []missing
	for i, in := range c.at.above {
		if in.often == unbounded {
			keyword := maxItems
			if in.step == Values {
				keyword = maxProperties
			}
			found = append(found, missing{keyword: keyword, path: in.path, above: i})
		}
	}
	names := map[string]bool{}
	for _, word := range wordsIn.FindAllString(c.rule, -1) {
		names[word] = true
	}
	found = append(found, missingBounds(c.schema, c.at.path, []string{}, names)...)
	return found[:min(len(found), mostCandidates)]
}

var wordsIn = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// deepest limits the search in deeply nested schemas.
const deepest = 8

// missingBounds returns the bounds that a schema lacks, and the bounds that its items, values and the fields in names
// lack.
func missingBounds(s *structural.Structural, path, below []string, names map[string]bool) []missing {
	if s == nil || len(below) > deepest {
		return nil
	}
	var found []missing
	if keyword := lacks(s); keyword != "" {
		found = append(found, missing{keyword: keyword, path: path, below: below})
	}
	into := func(step string, child *structural.Structural) {
		found = append(found, missingBounds(child, append(slices.Clip(path), step), append(slices.Clip(below), step),
			names)...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if names[name] {
			child := s.Properties[name]
			into(name, &child)
		}
	}
	if s.Items != nil {
		into(Items, s.Items)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		into(Values, s.AdditionalProperties.Structural)
	}
	return found
}

// lacks returns the keyword that would bound a value, if the schema does not have it.
func lacks(s *structural.Structural) string {
	v := s.ValueValidation
	if v == nil {
		v = &structural.ValueValidation{}
	}
	switch {
	case s.Type == "string" && v.MaxLength == nil && len(v.Enum) == 0 && v.Format == "":
		return maxLength
	case s.Type == "array" && v.MaxItems == nil:
		return maxItems
	case s.AdditionalProperties != nil && v.MaxProperties == nil:
		return maxProperties
	}
	return ""
}
