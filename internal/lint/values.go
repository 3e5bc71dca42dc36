package lint

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"k8s.io/client-go/util/jsonpath"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/markers"
)

// checkValues reports arguments that have the correct type but an invalid value.
func (t *target) checkValues() {
	for _, e := range t.entries {
		if text, given := e.Argument(""); given && e.rules().Values != nil {
			t.oneOf(e, "", text, e.rules().Values)
		}
		values, paths := e.Arguments()
		for argument, allowed := range values {
			if text, given := e.Argument(argument); given {
				t.oneOf(e, argument, text, allowed)
			}
		}
		for _, argument := range paths {
			if text, given := e.Argument(argument); given {
				t.checkPath(e, argument, text)
			}
		}
		if pattern, ok := e.Value.(crdmarkers.Pattern); ok {
			t.checkPattern(e, string(pattern))
		}
		if e.Value == crdmarkers.UniqueItems(true) {
			t.badValue(e, "", "the API server rejects true", t.insteadOfUnique())
		}
		if size, ok := number(e.Value); ok && size < 0 && e.rules().Limit.Of != "" && e.rules().Limit.Of != markers.OfValue {
			t.badValue(e, "", fmt.Sprintf("want 0 or more, got %s", formatNumber(size)), "")
		}
	}
}

// insteadOfUnique returns a hint for declaring a list without duplicates. The hint depends on the items, because in a
// set the API server compares only items that are not objects or lists.
func (t *target) insteadOfUnique() string {
	isSimple := slices.Contains([]markers.Kind{"", markers.KindString, markers.KindInteger, markers.KindNumber,
		markers.KindBoolean}, t.items().kind)
	if len(find(t.entries, "listType", "k8s:listType")) > 0 || t.shape.kind == markers.KindArray && !isSimple {
		return "remove it"
	}
	return "write +listType=set"
}

// badValue reports the value of an argument. If argument is empty, it reports the value of the marker.
func (t *target) badValue(e entry, argument, message, hint string) {
	offset := markers.ValueOffset(e.Text)
	if argument != "" {
		offset = markers.ArgumentValueOffset(e.Text, argument)
		message = argument + ": " + message
	}
	t.reportAt(e, offset, problem(CodeValue, fmt.Sprintf("+%s: %s", e.label(), message), hint))
}

// oneOf reports a value that is not in allowed. If allowed has an empty element, the value may be empty.
func (t *target) oneOf(e entry, argument, value string, allowed []string) {
	if slices.Contains(allowed, value) {
		return
	}
	allowed = slices.DeleteFunc(slices.Clone(allowed), func(name string) bool { return name == "" || name == "Any" })
	t.badValue(e, argument, fmt.Sprintf("want %s, got %q", choice(allowed), value), nearest(value, allowed))
}

func choice(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

func (t *target) checkPattern(e entry, pattern string) {
	if _, err := regexp.Compile(pattern); err != nil {
		message := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		t.badValue(e, "", "not a regular expression: "+diagnostic.OneLine(message),
			"patterns have the syntax of Go's package regexp")
	}
}

// checkApplies reports validation markers that do not apply to the type of the target.
func (t *target) checkApplies() {
	items := t.items()
	for _, e := range t.entries {
		k := t.shape.kind
		if e.items && k != "" && k != markers.KindArray {
			t.reportAt(e, 0, problem(CodeMisplaced,
				fmt.Sprintf("+%s applies to the items of a list, but %s", e.label(), t.is()), "write +"+e.name))
			continue
		}
		if e.items && k == markers.KindArray && len(t.shape.named) > 0 {
			t.reportAt(e, 0, problem(CodeMisplaced, fmt.Sprintf("+%s applies to a list without a name, but %s with the name %s",
				e.label(), t.is(), t.shape.named[0].name), "write +"+e.label()+t.above()))
			continue
		}
		if e.items {
			k = items.kind
		}
		want := e.rules().About
		if k == "" || len(want) == 0 || slices.Contains(want, k) {
			t.checkWhole(e, k)
			continue
		}
		subject, is := article(want[len(want)-1]), t.is()
		if e.items {
			is = fmt.Sprintf("the items are of type %s", k)
		}
		d := problem(CodeMisplaced, fmt.Sprintf("+%s applies to %s, but %s", e.label(), subject, is),
			"remove it, or move it to where "+subject+" is")
		if better := t.otherwise(e, k, want[0]); len(better) > 0 {
			d.Hint = "write " + strings.Join(better, ", or ")
			if strings.Contains(d.Hint, crdmarkers.ValidationItemsPrefix) {
				d.Hint += t.above()
			}
		}
		t.reportAt(e, 0, d)
	}
}

// above completes a hint about a marker for items if the target is a list with a name, because the marker has to be at
// the type then.
func (t *target) above() string {
	if len(t.shape.named) == 0 {
		return ""
	}
	return " at the type " + t.shape.named[len(t.shape.named)-1].name
}

// otherwise returns the markers that mean for values of kind k what e means for values of kind about.
func (t *target) otherwise(e entry, k, about markers.Kind) []string {
	better := e.rules().Otherwise[k]
	if better == "" || !strings.HasPrefix(e.name, "kubebuilder:validation:") {
		return nil
	}
	prefix := "+" + strings.TrimSuffix(e.label(), e.short())
	var all []string
	if t.accepts(e.Marker, prefix+better+strings.TrimPrefix(e.Text, "+"+e.label())) {
		all = append(all, prefix+better)
	}
	if k == markers.KindArray && !e.items && t.items().kind == about && better != "items:"+e.short() {
		all = append(all, prefix+"items:"+e.short()+" for each item")
	}
	return all
}

// is describes the type of the target, as a clause for messages.
func (t *target) is() string {
	name := t.decl.name
	if t.field != nil {
		name = markers.FieldName(t.field)
	}
	return name + " is " + article(t.shape.kind)
}

// checkWhole reports bounds of integers that have a fraction.
func (t *target) checkWhole(e entry, k markers.Kind) {
	value, ok := number(e.Value)
	if ok && k == markers.KindInteger && value != math.Trunc(value) {
		t.reportAt(e, markers.ValueOffset(e.Text), problem(CodeValue,
			fmt.Sprintf("+%s: want an integer, like the values, got %s", e.label(), formatNumber(value)), ""))
	}
}

func (t *target) items() shape {
	if t.shape.kind != markers.KindArray || t.shape.items == nil {
		return shape{}
	}
	return t.decls.shapeOf(t.shape.owner, t.shape.items)
}

// checkPath reports a path that the API server would reject.
func (t *target) checkPath(e entry, argument, path string) {
	d := diagnostic.Error{Code: CodePath, Hint: "write a path such as .status.phase"}
	if plain, ok := plainPath(argument, path); ok {
		d.Hint = "write " + plain
	}
	switch {
	case path == "":
		d.Message = "the path is empty"
	case strings.HasPrefix(path, "{"):
		d.Message = fmt.Sprintf("%q is in braces", path)
	case !strings.HasPrefix(path, "."):
		d.Message = fmt.Sprintf("%q does not start with a dot", path)
	default:
		err := jsonpath.New(argument).Parse("{" + path + "}")
		if err == nil {
			return
		}
		d.Message = fmt.Sprintf("%q is not a JSON path: %s", path, diagnostic.OneLine(err.Error()))
	}
	d.Message = fmt.Sprintf("+%s: %s: %s", e.label(), argument, d.Message)
	t.reportAt(e, markers.ArgumentValueOffset(e.Text, argument), d)
}

// plainPath returns a path in the form that the API server expects: with a leading dot, without braces, and without the
// sign for the whole object. It adds quotes if the marker requires them. ok is false if the result is not a path.
func plainPath(argument, path string) (plain string, ok bool) {
	path = strings.TrimPrefix(strings.TrimSpace(strings.Trim(path, "{}")), "$")
	plain = "." + strings.TrimPrefix(path, ".")
	if plain == "." || strings.Contains(plain, "`") || jsonpath.New(argument).Parse("{"+plain+"}") != nil {
		return "", false
	}
	if strings.ContainsAny(plain, ",;:{}'\" ") {
		plain = "`" + plain + "`"
	}
	return plain, true
}
