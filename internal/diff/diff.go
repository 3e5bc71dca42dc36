// Package diff compares two sets of CRDs and reports which clients and objects each change breaks.
//
// Its subpackages do the work: input reads each side of the comparison, change lists the differences, witness finds
// objects that show the breakage, and accept reads the list of accepted changes. This package combines their results
// into a [Report].
package diff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/token"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/diff/accept"
	"github.com/kctrl-dev/kctrl/internal/diff/change"
	"github.com/kctrl-dev/kctrl/internal/diff/input"
	"github.com/kctrl-dev/kctrl/internal/diff/witness"
)

// Finding is a breaking change.
type Finding struct {
	CRD     string         `json:"crd"`
	Kind    string         `json:"kind"`
	Version string         `json:"version,omitempty"`
	Field   string         `json:"field,omitempty"`
	Change  string         `json:"change"`
	Message string         `json:"message"`
	Breaks  []change.Class `json:"breaks"`
	Pos     token.Position `json:"-"`
	// Witness shows the breakage, and Backward the breakage by a downgrade.
	Witness  *witness.Witness `json:"witness,omitempty"`
	Backward *witness.Witness `json:"downgradeWitness,omitempty"`
	// Why is the reason for a missing witness.
	Why string `json:"noWitness,omitempty"`
	// Accepted is the entry that accepts the change, and Expired an entry that no longer does.
	Accepted *accept.Entry `json:"-"`
	Expired  *accept.Entry `json:"-"`
}

// Counts reports whether the finding breaks one of the classes and is not accepted.
func (f *Finding) Counts(classes []change.Class) bool {
	return f.Accepted == nil && slices.ContainsFunc(f.Breaks,
		func(c change.Class) bool { return slices.Contains(classes, c) })
}

// Existing is an object on a cluster that a change breaks.
type Existing struct {
	CRD       string `json:"crd"`
	Version   string `json:"version"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Reason    string `json:"reason"`
}

// Report is the result of a comparison.
type Report struct {
	Old, New string
	// CRDs is the number of compared CRDs.
	CRDs     int
	Findings []Finding
	Existing []Existing
	// Unused are the entries that match no change.
	Unused []accept.Entry
	// Errs are the errors of inputs that could not be compared.
	Errs []error
}

// Options are the options of Compare.
type Options struct {
	Accepted []accept.Entry
	Now      time.Time
}

// Compare returns the breaking changes from the CRDs of before to the CRDs of after.
func Compare(ctx context.Context, before, after *input.Side, o Options) (*Report, error) {
	if err := input.Empty(before, after); err != nil {
		return nil, err
	}
	r := &Report{Old: before.Name, New: after.Name, Errs: slices.Concat(before.Errs, after.Errs)}
	for _, name := range input.Names(before, after) {
		old, now := before.CRDs[name], after.CRDs[name]
		if old == nil || now == nil && (after.Partial || len(after.Errs) > 0) {
			continue // an unreadable CRD is not a removed CRD
		}
		r.CRDs++
		p := &pair{report: r, old: old, now: now, samples: slices.Concat(before.Samples, after.Samples)}
		p.compare(ctx)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	r.accept(o)
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(diagnostic.ComparePosition(a.Pos, b.Pos), cmp.Compare(a.CRD, b.CRD), cmp.Compare(a.Version, b.Version),
			cmp.Compare(a.Field, b.Field))
	})
	return r, nil
}

// pair is the old and the new definition of one CRD.
type pair struct {
	report   *Report
	old, now *input.CRD // now is nil if the CRD was removed
	samples  []map[string]any
}

func (p *pair) compare(ctx context.Context) {
	changes := []change.Change{change.Removed(p.old.CustomResourceDefinition)}
	var now *apiextensionsv1.CustomResourceDefinition
	if p.now != nil {
		now = p.now.CustomResourceDefinition
		changes = change.Between(p.old.CustomResourceDefinition, now)
	}
	if len(changes) == 0 || p.refused() {
		return
	}
	before, after := witness.NewServer(p.old.CustomResourceDefinition), witness.NewServer(now)
	forward, backward := witness.NewFinder(before, after, p.samples), witness.NewFinder(after, before, p.samples)
	byKey := map[string]*result{}
	var order []string
	for i := range changes {
		c := &changes[i]
		finder := forward
		if c.Backward {
			finder = backward
		}
		found := &single{change: c}
		if c.Why == "" {
			found.Result = finder.Find(ctx, c)
			if found.Witness == nil {
				c.Why = c.Otherwise
			}
		}
		key := c.Key()
		if byKey[key] == nil {
			byKey[key] = &result{}
			order = append(order, key)
		}
		byKey[key].add(found)
	}
	dropRelaxed(byKey)
	for _, key := range order {
		p.finding(byKey[key])
	}
}

// refused adds the errors for which an API server rejects one of the two CRDs. Rejected CRDs cannot be compared.
func (p *pair) refused() bool {
	before := len(p.report.Errs)
	for _, crd := range []*input.CRD{p.old, p.now} {
		if crd != nil && crd.Check != nil {
			p.report.Errs = append(p.report.Errs, diagnostic.All(crd.Check())...)
		}
	}
	return len(p.report.Errs) > before
}

// single is a change in one direction and the result of the search for a witness.
type single struct {
	change *change.Change
	witness.Result
}

// result is a change in both directions.
type result struct{ forward, backward *single }

func (r *result) add(s *single) {
	switch {
	case s.change.Backward && r.backward == nil:
		r.backward = s
	case !s.change.Backward && r.forward == nil:
		r.forward = s
	}
}

// proven reports whether a witness shows the change.
func (s *single) proven() bool { return s != nil && s.Witness != nil }

// open reports whether it is unknown if the change breaks anything.
func (s *single) open() bool { return s != nil && s.Witness == nil && !s.None && s.change.Why == "" }

// dropRelaxed removes a direction without a witness if a witness shows the other direction, because the constraint then
// became weaker. The witness for a rule may show another rule of the same field.
func dropRelaxed(results map[string]*result) {
	type place struct{ version, field string }
	proven := map[place]map[bool]bool{}
	for _, r := range results {
		for _, s := range []*single{r.forward, r.backward} {
			if s.proven() && s.change.Keyword == change.KeywordRule {
				at := place{s.change.Version, s.change.Field()}
				if proven[at] == nil {
					proven[at] = map[bool]bool{}
				}
				proven[at][s.change.Backward] = true
			}
		}
	}
	for _, r := range results {
		if r.forward.open() && r.backward.proven() {
			r.forward = nil
		} else if r.backward.open() && r.forward.proven() {
			r.backward = nil
		}
		for _, s := range []**single{&r.forward, &r.backward} {
			if (*s).open() && (*s).change.Keyword == change.KeywordRule {
				if proven[place{(*s).change.Version, (*s).change.Field()}][!(*s).change.Backward] {
					*s = nil
				}
			}
		}
	}
}

// finding adds a breaking change to the report.
func (p *pair) finding(r *result) {
	f := Finding{CRD: p.old.Name, Kind: p.old.Spec.Names.Kind}
	for _, s := range []*single{r.forward, r.backward} {
		if s == nil || s.None {
			continue
		}
		c := s.change
		if f.Change == "" {
			f.Version, f.Field, f.Change, f.Message = c.Version, c.Field(), c.Keyword, c.Message
			f.Pos = p.position(c)
		}
		for _, class := range c.Breaks {
			if !slices.Contains(f.Breaks, class) {
				f.Breaks = append(f.Breaks, class)
			}
		}
		switch {
		case c.Why != "":
			f.Why = cmp.Or(f.Why, c.Why)
		case s.Witness == nil:
			f.Why = cmp.Or(f.Why, s.Explain(c))
		case c.Backward:
			f.Backward = s.Witness
		default:
			f.Witness = s.Witness
		}
	}
	if f.Change == "" {
		return
	}
	if f.Witness != nil || f.Backward != nil && r.forward == nil {
		f.Why = ""
	}
	slices.SortFunc(f.Breaks, func(a, b change.Class) int {
		return cmp.Compare(slices.Index(change.Classes, a), slices.Index(change.Classes, b))
	})
	p.report.Findings = append(p.report.Findings, f)
}

// position returns the position of a change in the new CRD, or in the old one if the CRD was removed.
func (p *pair) position(c *change.Change) token.Position {
	at := p.now
	if at == nil {
		at = p.old
	}
	if at.At == nil {
		return token.Position{}
	}
	return at.At(c.Problem(at.CustomResourceDefinition))
}

// accept marks the findings that the project accepts.
func (r *Report) accept(o Options) {
	used := make([]bool, len(o.Accepted))
	for i := range r.Findings {
		f := &r.Findings[i]
		for j := range o.Accepted {
			entry := &o.Accepted[j]
			if !entry.Matches(f.CRD, f.Version, f.Field, f.Change) {
				continue
			}
			used[j] = true
			if entry.Expired(o.Now) {
				f.Expired = entry
			} else {
				f.Accepted = entry
			}
		}
	}
	for j, entry := range o.Accepted {
		if !used[j] {
			r.Unused = append(r.Unused, entry)
		}
	}
}

// CheckExisting adds an object from a cluster to the report if the new CRD rejects or changes the object. crd is the
// name of its CRD.
func (r *Report) CheckExisting(crd string, before, after *witness.Server, version string, object map[string]any) {
	reason := witness.Breaks(before, after, version, object)
	if reason == "" {
		return
	}
	metadata, _ := object["metadata"].(map[string]any)
	text := func(key string) string { value, _ := metadata[key].(string); return value }
	r.Existing = append(r.Existing, Existing{CRD: crd, Version: version, Namespace: text("namespace"), Name: text("name"),
		Reason: reason})
}

// Breaking returns the number of findings that break one of the classes and are not accepted, plus the number of broken
// objects on a cluster.
func (r *Report) Breaking(classes []change.Class) int {
	n := len(r.Existing)
	for i := range r.Findings {
		if r.Findings[i].Counts(classes) {
			n++
		}
	}
	return n
}

// Err joins the errors of inputs that could not be compared.
func (r *Report) Err() error { return errors.Join(r.Errs...) }

// Title returns the subject of a finding in one line.
func (f *Finding) Title() string {
	parts := []string{f.Kind}
	if f.Version != "" {
		parts = append(parts, f.Version)
	}
	if f.Field != "" {
		parts = append(parts, f.Field)
	}
	return strings.Join(parts, " ") + ": " + f.Message
}

// Classes returns the classes of a finding, separated by commas.
func (f *Finding) Classes() string {
	var names []string
	for _, c := range f.Breaks {
		names = append(names, string(c))
	}
	return strings.Join(names, ", ")
}

// Outcome describes the result of writing the witness of a finding.
func (f *Finding) Outcome(old, now string) string {
	w, accepts, refuses := f.Witness, old, now
	if w == nil {
		w, accepts, refuses = f.Backward, now, old
	}
	if w == nil {
		return "no witness: " + f.Why
	}
	verb := "accepted"
	if w.Before != nil {
		verb = "accepted as an update"
	}
	if w.Reason != "" {
		return fmt.Sprintf("%s by %s, rejected by %s: %s", verb, accepts, refuses, diagnostic.OneLine(w.Reason))
	}
	return fmt.Sprintf("%s by %s, changed by %s", verb, accepts, refuses)
}

// Shown returns the witness of the breakage, or else the witness of the downgrade.
func (f *Finding) Shown() *witness.Witness {
	if f.Witness != nil {
		return f.Witness
	}
	return f.Backward
}
