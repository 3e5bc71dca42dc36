package registry

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// selection is the value of --controllers: names, names with a minus, and a star.
type selection []string

// enabled reports whether s enables a controller. The first item with its name decides. Without such an item, a star
// enables the controller unless it is disabled by default. s must not contain aliases, see resolve.
func (s selection) enabled(name string, disabledByDefault bool) bool {
	star := false
	for _, item := range s {
		switch item {
		case name:
			return true
		case "-" + name:
			return false
		case "*":
			star = true
		}
	}
	return star && !disabledByDefault
}

// alias is an alias that the user has used, and the name to use instead.
type alias struct{ used, name string }

// resolve returns s with names instead of aliases, and the aliases that s contains. The error reports every item that
// matches no controller.
func (s selection) resolve(all []Descriptor) (selection, []alias, error) {
	var resolved selection
	var used []alias
	var errs []error
	for _, item := range s {
		name, minus := strings.CutPrefix(item, "-")
		switch {
		case item == "*":
			resolved = append(resolved, item)
			continue
		case name == "":
			errs = append(errs, fmt.Errorf("controllers: %q is not a name; write * for all that are on by default", item))
			continue
		case minus && name == "*":
			errs = append(errs, errors.New("controllers: -* is not a name; omit * to run only the named controllers"))
			continue
		}
		at := slices.IndexFunc(all, func(d Descriptor) bool { return d.hasName(name) })
		if at < 0 {
			errs = append(errs, fmt.Errorf("controllers: unknown controller %q%s", name, didYouMean(name, namesOf(all))))
			continue
		}
		if all[at].Name != name {
			used = append(used, alias{name, all[at].Name})
		}
		resolved = append(resolved, strings.TrimSuffix(item, name)+all[at].Name)
	}
	return resolved, used, errors.Join(errs...)
}

func parseSelection(text string) (selection, error) {
	items := strings.Split(text, ",")
	for i, item := range items {
		items[i] = strings.TrimSpace(item)
		if items[i] == "" {
			return nil, errors.New("want names separated by commas, and * for all that are on by default")
		}
	}
	return items, nil
}

func namesOf(all []Descriptor) (names []string) {
	for _, d := range all {
		names = append(append(names, d.Name), d.Aliases...)
	}
	return names
}

// describe lists the controllers for --help, without the controllers of setups.
func describe(all []Descriptor, setUp bool) string {
	var on, off []string
	for _, d := range all {
		on = append(on, d.Name)
		if d.DisabledByDefault {
			off = append(off, d.Name)
		}
	}
	slices.Sort(on)
	slices.Sort(off)
	if setUp {
		on = append(on, "and those that the program sets up when it starts, as its log names them")
	}
	return fmt.Sprintf("comma-separated `names` of the controllers to run: * is all that are on by default, foo runs "+
		"foo, -foo does not\nAll controllers: %s\nDisabled by default: %s",
		cmp.Or(strings.Join(on, ", "), "none"), cmp.Or(strings.Join(off, ", "), "none"))
}

// didYouMean returns a hint if one of the names is similar to the given one, and "" otherwise.
func didYouMean(written string, names []string) string {
	best, extended, least := "", "", max(2, len(written)/3)+1
	for _, name := range names {
		lower, wanted := strings.ToLower(name), strings.ToLower(written)
		if d := distance(wanted, lower); d < least {
			best, least = name, d
		}
		if extended == "" && len(written) > 2 && strings.HasPrefix(lower, wanted) {
			extended = name // a user may remember only a part of the name
		}
	}
	if best = cmp.Or(best, extended); best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance returns the number of insertions, deletions and replacements between two strings.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
