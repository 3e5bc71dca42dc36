package witness

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/internal/diff/change"
	"github.com/kctrl-dev/kctrl/internal/expression"
	"github.com/kctrl-dev/kctrl/internal/language"
)

// Witness is an object that one CRD accepts and another one rejects or changes.
type Witness struct {
	// Object is the written object.
	Object map[string]any `json:"object"`
	// Before is the object that Object replaces. It is nil if Object is created.
	Before map[string]any `json:"before,omitempty"`
	// Reason is why Object is rejected. It is empty if Object is changed.
	Reason string `json:"reason,omitempty"`
	// After is the stored object if Object is changed.
	After map[string]any `json:"after,omitempty"`
	// Version is the API version. Status reports whether the status of Object is written too.
	Version string `json:"version"`
	Status  bool   `json:"status,omitempty"`
}

// Result is the result of a search.
type Result struct {
	// Witness is nil if none was found.
	Witness *Witness
	// None reports that no witness exists, because the change breaks nothing. Tried is the number of tried objects that
	// did not show the change.
	None  bool
	Tried int
	// Refusal is the reason why the lenient server rejects objects that contain the field of the change.
	Refusal string
}

// Limits of a search: the number of objects written to servers, the JSON length of values that are checked against a
// rule, and the number of steps that make an object smaller.
const (
	mostObjects = 500
	mostValues  = 1 << 19
	mostRepairs = 400
	mostSmaller = 80
)

// Finder finds witnesses of the changes from one CRD to another. It is not safe for concurrent use.
type Finder struct {
	lenient, strict *Server
	// samples are objects from config/samples.
	samples []map[string]any
	bases   map[string][]map[string]any
	// placed are objects that contain the field of a change.
	placed map[string]map[string]any
	// structural caches the last schema with which a rule was compiled, because consecutive rules often have the same
	// schema.
	structural struct {
		of     *props
		schema *structuralschema.Structural
	}
	make *maker
}

// NewFinder returns a Finder for objects that lenient accepts and strict does not. The search starts with the samples,
// which may be of any kind.
func NewFinder(lenient, strict *Server, samples []map[string]any) *Finder {
	return &Finder{
		lenient: lenient, strict: strict, samples: samples, make: newMaker(),
		bases: map[string][]map[string]any{}, placed: map[string]map[string]any{},
	}
}

// Find searches for a witness of a change. The CRD of the lenient server must be the lenient side of the change.
func (f *Finder) Find(ctx context.Context, c *change.Change) Result {
	s := &search{Finder: f, change: c, version: c.Version, refused: map[bool][]Request{},
		ended: func() bool { return ctx.Err() != nil }}
	s.broken = s.breaker()
	if c.Keyword == change.KeywordPattern {
		least, most := at(c.Lenient.MinLength), limit(c.Lenient.MaxLength)
		if !s.has(language.Query{Avoid: []string{c.Strict.Pattern}, Min: least, Max: most}) {
			return Result{None: true}
		}
	}
	if s.version == "" {
		s.version = served(f.lenient.crd)
	}
	if v := change.Version(f.lenient.crd, s.version); c.Lenient != nil && v != nil && !v.Served && !v.Storage {
		return Result{None: true} // no client can write it, and no object is stored in it
	}
	for _, base := range f.basesOf(ctx, s.version) {
		for r := range s.candidates(ctx, base) {
			if ctx.Err() != nil || s.tried >= mostObjects {
				break
			}
			if w := s.try(r); w != nil {
				return Result{Witness: s.smaller(w)}
			}
		}
		if w := s.repaired(ctx); w != nil {
			return Result{Witness: s.smaller(w)}
		}
	}
	return Result{None: s.harmless(), Tried: s.tried, Refusal: s.refusal}
}

// mostRefused is the maximum number of rejected creates, and of rejected updates, that a search repairs.
const mostRefused = 6

// repaired searches for a witness by repairing the writes that the lenient server rejected.
func (s *search) repaired(ctx context.Context) *Witness {
	refused := slices.Concat(s.refused[false], s.refused[true])
	s.refused = map[bool][]Request{}
	for _, r := range refused {
		was, _ := get(r.Before, s.change.Path)
		shows := func(object map[string]any) bool {
			value, there := get(object, s.change.Path)
			if s.change.Keyword == change.KeywordDefault {
				return !there
			}
			return there && s.broken(was, value)
		}
		if s.change.Lenient == nil || !shows(r.Object) {
			continue
		}
		if fixed := s.repair(ctx, r, false, shows); fixed != nil {
			if w := s.try(s.request(r.Before, fixed)); w != nil {
				return w
			}
		}
	}
	return nil
}

// shapes reports whether the change concerns the form of values. Any value of such a form then shows the change.
func (s *search) shapes() bool {
	switch s.change.Keyword {
	case change.KeywordRule, change.KeywordField, change.KeywordStorage, change.KeywordRequired,
		"minItems", "maxItems", "minProperties", "maxProperties":
		return true
	}
	return s.logic() != ""
}

// served returns a version in which clients can write objects.
func served(crd *apiextensionsv1.CustomResourceDefinition) string {
	if stored := change.Storage(crd); stored != nil && stored.Served {
		return stored.Name
	}
	for _, v := range crd.Spec.Versions {
		if v.Served {
			return v.Name
		}
	}
	return ""
}

// search is the search for one witness.
type search struct {
	*Finder
	change  *change.Change
	version string // API version of the objects
	// broken reports whether a value of the field shows the change, without regard to other changes.
	broken func(before, value any) bool
	// rule is the rule of the change. It is nil if the change does not concern a rule, or if the rule does not compile.
	rule  *rule
	tried int
	// refused contains creates (false) and updates (true) that show the change, but that the lenient server rejects for
	// another reason.
	refused map[bool][]Request
	refusal string // see Result
	// ended reports whether the caller has stopped waiting.
	ended func() bool
}

// try writes an object to both servers, and returns it as a witness if it shows the change.
func (s *search) try(r Request) *Witness {
	s.tried++
	if len(s.change.Path) > 0 || s.change.Lenient != nil {
		value, there := get(r.Object, s.change.Path)
		was, _ := get(r.Before, s.change.Path)
		if there && !s.broken(was, value) {
			return nil
		}
	}
	accepted := s.lenient.Write(r)
	if !accepted.accepts() {
		refused := s.refused[r.Before != nil]
		elsewhere := s.shapes() || indexOf(accepted.Refused, sampleField(s.change.Path)) < 0
		if len(refused) < mostRefused && elsewhere {
			s.refused[r.Before != nil] = append(refused, r)
		}
		return nil
	}
	if r.Before != nil && !s.lenient.Write(s.request(nil, r.Before)).accepts() {
		return nil
	}
	w := &Witness{Object: r.Object, Before: r.Before, Version: r.Version, Status: r.Status}
	if s.rule != nil {
		if w.Reason = s.ruleReason(r); w.Reason == "" {
			return nil
		}
		return w
	}
	got := s.strict.Write(r)
	if len(got.Refused) > 0 {
		w.Reason = got.explain(s.change)
		return w
	}
	// The result of the strict server, without the fields that clients of the lenient server do not know.
	known := runtime.DeepCopyJSON(got.Object)
	if s.lenient.crd.Spec.PreserveUnknownFields || !s.strict.crd.Spec.PreserveUnknownFields {
		s.lenient.kinds.Prune(s.lenient.kind(r.Version), known)
	}
	if r.Before == nil && !reflect.DeepEqual(known, accepted.Object) && s.visible(accepted.Object, known) {
		w.After = got.Object
		return w
	}
	return nil
}

// ruleReason returns why the rule of the change is false for the strict server's form of an object, or "". It does not
// evaluate the server's other rules, because a CRD may have thousands.
func (s *search) ruleReason(r Request) string {
	if reason := s.strict.unserved(r.Version, r.Object); reason != "" {
		return reason
	}
	shaped := runtime.DeepCopyJSON(r.Object)
	s.strict.kinds.Reshape(s.strict.kind(r.Version), shaped)
	value, there := get(shaped, s.change.Path)
	if !there {
		return ""
	}
	was, _ := get(r.Before, s.change.Path)
	reason, field := s.rule.reason(was, value), sampleField(s.change.Path)
	if reason == "" || field == "" {
		return reason
	}
	return field + ": " + reason
}

// visible reports whether two objects differ at the field of the change.
func (s *search) visible(a, b map[string]any) bool {
	path := s.change.Path
	ofMany := func(step string) bool { return step == expression.Items || step == expression.Values }
	if i := slices.IndexFunc(path, ofMany); i >= 0 {
		path = path[:i]
	}
	if s.change.Keyword == change.KeywordNullable || s.change.Keyword == change.KeywordDefault {
		path = path[:max(len(path)-1, 0)]
	}
	va, _ := get(a, path)
	vb, _ := get(b, path)
	return !reflect.DeepEqual(va, vb)
}

// basesOf returns objects that the lenient server accepts: small ones and samples.
func (f *Finder) basesOf(ctx context.Context, version string) []map[string]any {
	if known, ok := f.bases[version]; ok {
		return known
	}
	var bases []map[string]any
	if f.lenient.crd == nil {
		return nil
	}
	s := change.SchemaOf(change.Version(f.lenient.crd, version))
	if s == nil {
		return nil
	}
	smallest := f.repair(ctx, Request{Version: version, Object: f.head(version, f.make.object(merged(s), 0, 0))}, false,
		func(map[string]any) bool { return true })
	if smallest != nil {
		bases = append(bases, smallest)
	}
	gvk := f.lenient.kind(version)
	for _, sample := range f.samples {
		if sample["apiVersion"] == gvk.GroupVersion().String() && sample["kind"] == gvk.Kind {
			object := f.head(version, runtime.DeepCopyJSON(sample))
			if len(bases) < 4 && f.lenient.Write(Request{Version: version, Object: object}).accepts() {
				bases = append(bases, object)
			}
		}
	}
	f.bases[version] = bases
	return bases
}

// head sets the fields that every object has.
func (f *Finder) head(version string, object map[string]any) map[string]any {
	gvk := f.lenient.kind(version)
	metadata := map[string]any{"name": "witness"}
	if f.lenient.crd.Spec.Scope == apiextensionsv1.NamespaceScoped {
		metadata["namespace"] = "default"
	}
	object["apiVersion"], object["kind"], object["metadata"] = gvk.GroupVersion().String(), gvk.Kind, metadata
	return object
}

// Explain returns why the search has no witness.
func (r Result) Explain(c *change.Change) string {
	text := fmt.Sprintf("none of %d tested objects shows it", r.Tried)
	switch {
	case r.Refusal != "":
		refusal := strings.Join(strings.Fields(r.Refusal), " ")
		return text + ": the search found no valid object with the field (" + refusal + ")"
	case r.Tried == 0:
		text = "no otherwise valid object was found"
	}
	if c.Keyword == change.KeywordRule || strings.HasSuffix(c.Keyword, "Of") || c.Keyword == "not" {
		return text + ": the search cannot prove that none exists, so check the rule"
	}
	return text + ": other constraints may exclude it"
}
