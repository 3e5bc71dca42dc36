package lint

import (
	"fmt"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/markers"
)

// checkBounds reports lower bounds that exceed the upper bounds. The bounds of a field include the bounds of its type.
func (t *target) checkBounds() {
	all := t.limits()
	for _, of := range []markers.Measure{markers.OfValue, markers.OfLength, markers.OfItems, markers.OfProperties} {
		for _, items := range []bool{false, true} {
			low, hasLow := strictest(all, markers.Limit{Of: of}, items)
			high, hasHigh := strictest(all, markers.Limit{Of: of, Upper: true}, items)
			if hasLow && hasHigh {
				t.checkBound(low, high)
			}
		}
	}
}

// strictest returns the marker with the strictest limit of a kind. If several limits are equal, it returns the first.
func strictest(entries []entry, limit markers.Limit, items bool) (found entry, ok bool) {
	var best float64
	for _, e := range entries {
		value, isNumber := number(e.Value)
		if e.items != items || !isNumber || e.rules().Limit != limit {
			continue
		}
		if !ok || limit.Upper && value < best || !limit.Upper && value > best {
			found, best, ok = e, value, true
		}
	}
	return found, ok
}

// checkBound reports a lower bound that exceeds the upper bound. The position of the finding is the marker of the
// target, or the later marker if both belong to the target.
func (t *target) checkBound(low, high entry) {
	lower, _ := number(low.Value)
	upper, _ := number(high.Value)
	open := lower == upper && low.short() == "Minimum" && (t.isSet("ExclusiveMinimum", low.items) ||
		t.isSet("ExclusiveMaximum", low.items))
	if lower < upper || lower == upper && !open {
		return
	}
	at, relation := low, "above"
	if t.owns(high) && (!t.owns(low) || high.Pos > low.Pos) {
		at, relation = high, "below"
	}
	if !t.owns(at) {
		return
	}
	other := low
	if at.Pos == low.Pos {
		other = high
	}
	value, _ := number(at.Value)
	limit, _ := number(other.Value)
	d := diagnostic.Error{
		Code: CodeContradiction,
		Message: fmt.Sprintf("+%s=%s is %s +%s=%s: no value is valid", at.label(), formatNumber(value), relation,
			other.label(), formatNumber(limit)),
		Hint: "change one of them",
	}
	if open {
		d.Message = fmt.Sprintf("+%s=%s is +%s=%s, and one of them is exclusive: no value is valid", at.label(),
			formatNumber(value), other.label(), formatNumber(limit))
	}
	if !t.owns(other) {
		d.Hint = fmt.Sprintf("+%s is at the type, %s", other.label(), t.where(other))
	}
	t.reportAt(at, markers.ValueOffset(at.Text), d)
}
