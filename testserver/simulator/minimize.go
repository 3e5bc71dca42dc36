package simulator

import (
	"cmp"
	"slices"
	"strings"
	"testing"
)

// size returns the number of faults and user actions in a plan.
func (p Plan) size() int {
	return len(p.Faults) + len(p.actions())
}

// cause identifies the first cause of a failure: the rule, and the operator's line that violates it. If the line is not
// known, cause uses the beginning of the message.
func (f *Failure) cause() string {
	v := f.Violations[0]
	if v.Call != nil && v.Call.Source != "" {
		return v.Invariant + " at " + v.Call.Source
	}
	text, _, _ := strings.Cut(v.Message, ":")
	return v.Invariant + " " + text
}

// distinct returns the first failure of each cause, with the number of further failures.
func distinct(failures []Failure) []Failure {
	var all []Failure
	for _, f := range failures {
		i := slices.IndexFunc(all, func(other Failure) bool { return other.cause() == f.cause() })
		if i >= 0 {
			all[i].add(f)
			continue
		}
		all = append(all, f)
	}
	return all
}

// add adds a failure that has the same cause, and whose plan is not smaller. If its faults are of another class,
// another bug may be the reason, so add keeps its plan.
func (f *Failure) add(other Failure) {
	f.Similar++
	known := func(p Plan) bool { return p.class() == other.Plan.class() }
	if !known(f.Plan) && !slices.ContainsFunc(f.Also, known) {
		f.Also = append(f.Also, other.Plan)
	}
}

// class returns the groups of a plan's faults, or else the actions of the user.
func (p Plan) class() string {
	var groups []string
	for _, f := range p.Faults {
		groups = append(groups, kinds[f.Kind].group)
	}
	if len(groups) == 0 {
		for _, kind := range p.actions() {
			groups = append(groups, string(kind))
		}
	}
	slices.Sort(groups)
	return cmp.Or(strings.Join(slices.Compact(groups), " and "), "no fault")
}

// minimize removes the faults of a plan one by one, and keeps each smaller plan that fails for the same cause.
func minimize(t *testing.T, operator *Operator, reference *Reference, f *Failure, disabled []string) error {
	for i := 0; i < len(f.Plan.Faults) && len(f.Plan.Faults) > 1; {
		smaller := f.Plan
		smaller.Faults = slices.Delete(slices.Clone(f.Plan.Faults), i, i+1)
		failure, err := Try(t, operator, reference, smaller, disabled)
		if err != nil {
			return err
		}
		if failure == nil || failure.cause() != f.cause() {
			i++
			continue
		}
		failure.Similar, failure.Also = f.Similar, f.Also
		*f = *failure
	}
	return nil
}
