package witness

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/internal/diff/change"
	"github.com/kctrl-dev/kctrl/internal/diff/language"
	"github.com/kctrl-dev/kctrl/internal/expression"
)

// Witness is an object that one CRD accepts and another one does not.
type Witness struct {
	// Object is what is written.
	Object map[string]any `json:"object"`
	// Before is what Object replaces. It is nil where Object is created.
	Before map[string]any `json:"before,omitempty"`
	// Reason says why Object is refused. It is empty where Object is changed.
	Reason string `json:"reason,omitempty"`
	// After is what becomes of Object, if it is changed.
	After map[string]any `json:"after,omitempty"`
	// Version is that of the API, and Status says that the status of Object is written too.
	Version string `json:"version"`
	Status  bool   `json:"status,omitempty"`
}

// Result is the result of a search.
type Result struct {
	// Witness is nil if none was found.
	Witness *Witness
	// None says that there is none: the change breaks nothing. Otherwise Tried objects did not show a break.
	None  bool
	Tried int
}

// Bounds of a search: objects that servers answer, the length in JSON of the values that a rule is checked with, and steps
// that make an object smaller.
const (
	mostObjects = 500
	mostValues  = 1 << 19
	mostRepairs = 400
	mostSmaller = 80
)

// Finder finds witnesses of the changes from one CRD to another. It is not safe for concurrent use.
type Finder struct {
	lenient, strict *Server
	// samples are objects that people have written.
	samples []map[string]any
	bases   map[string][]map[string]any
	// placed are objects that have the field of some change.
	placed map[string]map[string]any
	// structural is the last schema that a rule was compiled with: the next rule is often of the same one.
	structural struct {
		of     *props
		schema *structuralschema.Structural
	}
	make   *maker
}

// NewFinder returns a finder of objects that one server accepts and another does not. Samples, of any kind, are objects
// to begin with.
func NewFinder(lenient, strict *Server, samples []map[string]any) *Finder {
	return &Finder{lenient: lenient, strict: strict, samples: samples, bases: map[string][]map[string]any{}, placed: map[string]map[string]any{}, make: newMaker()}
}

// Find searches for a witness of a change, of which the lenient server has the lenient side.
func (f *Finder) Find(ctx context.Context, c *change.Change) Result {
	s := &search{Finder: f, change: c, ended: func() bool { return ctx.Err() != nil }}
	s.broken = s.breaker()
	if c.Keyword == change.KeywordPattern && s.included() {
		return Result{None: true}
	}
	version := c.Version
	if version == "" {
		version = served(f.lenient.crd)
	}
	for _, base := range f.basesOf(ctx, version) {
		for step := range s.candidates(ctx, base) {
			if ctx.Err() != nil || s.tried >= mostObjects {
				break
			}
			if w := s.try(version, step.before, step.object); w != nil {
				return Result{Witness: s.smaller(version, w)}
			}
		}
		if w := s.repaired(ctx, version); w != nil {
			return Result{Witness: s.smaller(version, w)}
		}
	}
	return Result{None: s.harmless(), Tried: s.tried}
}

// mostRefused is how many objects are repaired that the lenient server refuses.
const mostRefused = 6

// repaired returns a witness made of the objects that the lenient server refused.
func (s *search) repaired(ctx context.Context, version string) *Witness {
	refused := s.refused
	s.refused = nil
	for _, object := range refused {
		value, there := get(object, s.change.Path)
		if s.change.Lenient == nil || !there || !s.broken(nil, value) {
			continue
		}
		fixed := s.repair(ctx, s.request(version, object), func(other map[string]any) bool {
			now, there := get(other, s.change.Path)
			return there && (reflect.DeepEqual(now, value) || s.shapes() && s.broken(nil, now))
		})
		if fixed != nil {
			if w := s.try(version, nil, fixed); w != nil {
				return w
			}
		}
	}
	return nil
}

// shapes reports whether the change is about values of many forms, of which one is as good as another.
func (s *search) shapes() bool { return s.change.Keyword == change.KeywordRule || s.logic() != "" }

// served returns a version that can be written.
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
	change *change.Change
	// broken reports whether a value of the field shows the change, by what the change says alone.
	broken func(before, value any) bool
	// rule is that of the change, if it is about one that compiles.
	rule *rule
	tried  int
	// refused are objects that show the change but for something else, for which the lenient server refuses them.
	refused []map[string]any
	// ended reports whether nobody waits for the result.
	ended func() bool
}

// included reports whether each text that the lenient pattern matches is matched by the strict one.
func (s *search) included() bool {
	a, b := s.change.Lenient, s.change.Strict
	q := language.Query{Avoid: []string{b.Pattern}, Min: at(a.MinLength), Max: limit(a.MaxLength)}
	if a.Pattern != "" {
		q.Match = []string{a.Pattern}
	}
	answer, err := language.Find(q)
	return err == nil && answer.Complete && !answer.Found
}

// aboutNewFields reports whether a rule holds for all values of the lenient schema because it speaks of fields that this
// schema does not have, or only at a greater depth, and of others for each of whose values the rule holds.
func (s *search) aboutNewFields() bool {
	has, had := map[string]int{}, map[string]int{}
	fieldsOf(s.change.Strict, has, 1)
	fieldsOf(s.change.Lenient, had, 1)
	isNew, values := false, []map[string]any{{}}
	for _, name := range identifier.FindAllString(quoted.ReplaceAllString(s.change.Name, ""), -1) {
		switch {
		case name == "size" || name == "oldSelf":
			return false
		case had[name] > 0 && had[name] <= has[name]:
			if values = s.combined(values, name); len(values) == 0 {
				return false
			}
		default:
			isNew = isNew || has[name] > 0
		}
	}
	holds := !slices.ContainsFunc(values, func(v map[string]any) bool { return len(v) > 0 && s.broken(nil, v) })
	return isNew && holds && !change.Preserves(s.change.Lenient)
}

// mostCombined is how many combinations of fields a rule is checked with.
const mostCombined = 500

// combined returns objects with each value that a field may have, or nothing if there are too many.
func (s *search) combined(objects []map[string]any, name string) []map[string]any {
	of, ok := s.change.Lenient.Properties[name]
	if !ok || len(of.Enum) == 0 && of.Type != "boolean" {
		return nil
	}
	values := []any{true, false}
	if len(of.Enum) > 0 {
		values = s.make.scalars(&props{Enum: of.Enum, Type: "enum"}, nil, nil)
	}
	var all []map[string]any
	for _, object := range objects {
		if !slices.Contains(s.change.Lenient.Required, name) {
			all = append(all, object)
		}
		for _, v := range values {
			all = append(all, with(object, name, v))
		}
	}
	if len(all) > mostCombined {
		return nil
	}
	return all
}

// fieldsOf adds the names of all fields in a schema to a map, with the smallest depth.
func fieldsOf(s *props, names map[string]int, depth int) {
	for name, p := range s.Properties {
		if known := names[name]; known == 0 || depth < known {
			names[name] = depth
		}
		fieldsOf(&p, names, depth+1)
	}
	if of := change.ItemsOf(s); of != nil {
		fieldsOf(of, names, depth+1)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		fieldsOf(s.AdditionalProperties.Schema, names, depth+1)
	}
}

// harmless reports whether no value can show the change: each value of an enum is allowed, or servers do not know the
// format.
func (s *search) harmless() bool {
	a, b := s.change.Lenient, s.change.Strict
	if a == nil {
		return false
	}
	if s.change.Keyword == change.KeywordRule {
		return s.aboutNewFields()
	}
	if len(a.Enum) > 0 && s.change.Keyword != change.KeywordDefault {
		return !slices.ContainsFunc(a.Enum, func(e apiextensionsv1.JSON) bool { return s.broken(nil, decode(e)) })
	}
	if s.change.Keyword != change.KeywordFormat || change.TypeOf(a) != change.TypeOf(b) {
		return false
	}
	only := &props{Type: b.Type, Format: b.Format}
	c := newChecker(only)
	return !slices.ContainsFunc(s.make.scalars(&props{Type: a.Type}, nil, nil), c.refuses)
}

// try returns a witness if an object is one.
func (s *search) try(version string, before, object map[string]any) *Witness {
	s.tried++
	if len(s.change.Path) > 0 || s.change.Lenient != nil {
		value, there := get(object, s.change.Path)
		was, _ := get(before, s.change.Path)
		if there && !s.broken(was, value) {
			return nil
		}
	}
	r := s.request(version, object)
	r.Before = before
	accepted := s.lenient.Write(r)
	if !accepted.accepts() && before == nil && len(s.refused) < mostRefused && (s.shapes() || indexOf(accepted.Refused, sampleField(s.change.Path)) < 0) {
		s.refused = append(s.refused, object)
	}
	if !accepted.accepts() || before != nil && !s.lenient.Write(Request{Version: version, Object: before, Status: r.Status}).accepts() {
		return nil
	}
	if s.rule != nil {
		return s.tryRule(r)
	}
	got := s.strict.Write(r)
	if len(got.Refused) > 0 {
		return &Witness{Object: object, Before: before, Reason: got.explain(s.change), Version: version, Status: r.Status}
	}
	// What the strict server has made of it, as clients of the lenient one know it.
	known := runtime.DeepCopyJSON(got.Object)
	if s.lenient.crd.Spec.PreserveUnknownFields == s.strict.crd.Spec.PreserveUnknownFields || s.lenient.crd.Spec.PreserveUnknownFields {
		s.lenient.prune(version, known)
	}
	if before == nil && !reflect.DeepEqual(known, accepted.Object) && s.visible(accepted.Object, known) {
		return &Witness{Object: object, After: got.Object, Version: version, Status: r.Status}
	}
	return nil
}

// tryRule returns a witness if the rule of the change does not hold for what the strict server makes of an object. The
// other rules of that server are not asked: there may be thousands.
func (s *search) tryRule(r Request) *Witness {
	w := &Witness{Object: r.Object, Before: r.Before, Version: r.Version, Status: r.Status}
	if w.Reason = s.strict.unserved(r.Version, r.Object); w.Reason != "" {
		return w
	}
	shaped := runtime.DeepCopyJSON(r.Object)
	s.strict.kinds.Reshape(s.strict.kind(r.Version), shaped)
	value, there := get(shaped, s.change.Path)
	was, _ := get(r.Before, s.change.Path)
	if !there {
		return nil
	}
	if w.Reason = s.rule.reason(was, value); w.Reason == "" {
		return nil
	}
	if field := sampleField(s.change.Path); field != "" {
		w.Reason = field + ": " + w.Reason
	}
	return w
}

// visible reports whether a difference between two objects is where the change is.
func (s *search) visible(a, b map[string]any) bool {
	path := s.change.Path
	if i := slices.IndexFunc(path, func(step string) bool { return step == expression.Items || step == expression.Values }); i >= 0 {
		path = path[:i]
	}
	if s.change.Keyword == change.KeywordNullable || s.change.Keyword == change.KeywordDefault {
		path = path[:max(len(path)-1, 0)]
	}
	va, _ := get(a, path)
	vb, _ := get(b, path)
	return !reflect.DeepEqual(va, vb)
}

// prune removes the fields that a version does not have.
func (s *Server) prune(version string, object map[string]any) { s.kinds.Prune(s.kind(version), object) }

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
	smallest := f.repair(ctx, Request{Version: version, Object: f.head(version, f.make.object(merged(s), 0, 0))}, func(map[string]any) bool { return true })
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

// head sets what each object has.
func (f *Finder) head(version string, object map[string]any) map[string]any {
	gvk := f.lenient.kind(version)
	metadata := map[string]any{"name": "witness"}
	if f.lenient.crd.Spec.Scope == apiextensionsv1.NamespaceScoped {
		metadata["namespace"] = "default"
	}
	object["apiVersion"], object["kind"], object["metadata"] = gvk.GroupVersion().String(), gvk.Kind, metadata
	return object
}

// step is an object to try, and what it replaces.
type step struct{ before, object map[string]any }

// candidates yields objects that may be witnesses, made of a base.
func (s *search) candidates(ctx context.Context, base map[string]any) iter.Seq[step] {
	c := s.change
	return func(yield func(step) bool) {
		if c.Lenient == nil {
			s.ofKind(base, yield)
			return
		}
		if c.Keyword == change.KeywordDefault {
			if object, ok := s.make.without(s.root(), base, c.Path); ok {
				yield(step{object: object})
			}
			return
		}
		from := s.with(ctx, base)
		if from == nil {
			return
		}
		current, _ := get(from, c.Path)
		for v := range s.values(current) {
			object, ok := s.make.place(s.root(), from, c.Path, v.value, true)
			if !ok {
				continue
			}
			next := step{object: object}
			if v.update {
				next.before = from
			}
			if !yield(next) {
				return
			}
		}
	}
}

// with returns an object that has the field of the change, made of a base: one that the lenient server accepts, if that
// is possible.
func (s *search) with(ctx context.Context, base map[string]any) map[string]any {
	path := s.change.Path
	key := s.change.Version + keyOf(path) + keyOf(base)
	if known, ok := s.placed[key]; ok {
		return known
	}
	from, ok := s.make.place(s.root(), base, path, nil, false)
	if !ok {
		return nil
	}
	r := s.request(s.change.Version, from)
	repaired := s.repair(ctx, r, func(object map[string]any) bool { _, there := get(object, path); return there })
	if repaired != nil {
		from = repaired
	}
	s.placed[key] = from
	return from
}

// request is the write of an object that shows the change.
func (s *search) request(version string, object map[string]any) Request {
	return Request{Version: version, Object: object, Status: len(s.change.Path) > 0 && s.change.Path[0] == "status"}
}

func (s *search) root() *props {
	return change.SchemaOf(change.Version(s.lenient.crd, s.change.Version))
}

// ofKind yields objects for changes outside of schemas.
func (s *search) ofKind(base map[string]any, yield func(step) bool) {
	switch s.change.Keyword {
	case change.KeywordStatus:
		status := s.root().Properties["status"]
		for value := range s.make.neighbours(&status, map[string]any{}, &hints{}, 1) {
			if !yield(step{object: with(base, "status", value)}) {
				return
			}
		}
		yield(step{object: with(base, "status", map[string]any{"x": "x"})})
	case change.KeywordPruning:
		yield(step{object: with(base, "unknownField", "x")})
	default:
		yield(step{object: base})
	}
}

// value is a value of the field that a change is about. update says that it has to replace the one that is there.
type value struct {
	value  any
	update bool
}

// values yields values of the field, made of the current one.
func (s *search) values(current any) iter.Seq[value] {
	c := s.change
	return func(yield func(value) bool) {
		if c.Keyword == change.KeywordRule {
			s.searchRule(current, yield)
			return
		}
		for _, v := range distinct(append(s.steered(current), s.make.scalars(c.Lenient, c.Strict, nil)...)) {
			if !yield(value{value: v}) {
				return
			}
		}
		if s.logic() != "" {
			s.beside(current, yield)
		}
	}
}

// logic returns the schemas that the change combines, as JSON, or nothing.
func (s *search) logic() string {
	a, b := s.change.Lenient, s.change.Strict
	switch s.change.Keyword {
	case "allOf":
		return keyOf(a.AllOf) + keyOf(b.AllOf)
	case "anyOf":
		return keyOf(a.AnyOf) + keyOf(b.AnyOf)
	case "oneOf":
		return keyOf(a.OneOf) + keyOf(b.OneOf)
	case "not":
		return keyOf(a.Not) + keyOf(b.Not)
	}
	return ""
}

// steered returns values that the keyword of the change is about, made of the current one.
func (s *search) steered(current any) []any {
	c := s.change
	fields, _ := current.(map[string]any)
	lenient, strict := c.Lenient, c.Strict
	switch c.Keyword {
	case change.KeywordField, change.KeywordStorage:
		of := merged(property(lenient, c.Name))
		var all []any
		for _, v := range append([]any{s.make.minimal(of, 0)}, s.make.scalars(of, nil, nil)...) {
			all = append(all, with(fields, c.Name, v))
		}
		return all
	case change.KeywordRequired:
		less := maps.Clone(fields)
		delete(less, c.Name)
		return []any{less}
	case change.KeywordNullable:
		return []any{nil}
	case change.KeywordValues, change.KeywordPruning:
		v := any("x")
		if of := change.ValuesOf(lenient); of != nil {
			v = s.make.minimal(of, 0)
		}
		return []any{with(fields, "unknownField", v)}
	case change.KeywordListType:
		return s.twins()
	case "minItems", "maxItems":
		return counted(func(n int) any { return s.make.items(merged(lenient), n, 0) }, lenient.MinItems, lenient.MaxItems, strict.MinItems, strict.MaxItems)
	case "minProperties", "maxProperties":
		return counted(func(n int) any { return s.make.object(merged(lenient), n, 0) }, lenient.MinProperties, lenient.MaxProperties, strict.MinProperties, strict.MaxProperties)
	}
	return nil
}

// counted returns values with as many parts as bounds allow, and one less and one more.
func counted(make func(n int) any, bounds ...*int64) []any {
	counts := []int{0, 1}
	for _, b := range bounds {
		if b != nil {
			counts = append(counts, max(at(b)-1, 0), at(b), at(b)+1)
		}
	}
	slices.Sort(counts)
	var values []any
	for _, n := range slices.Compact(counts) {
		values = append(values, make(n))
	}
	return values
}

// twins returns lists with two items that are one to the strict schema.
func (s *search) twins() []any {
	of := change.ItemsOf(s.change.Lenient)
	if of == nil {
		return nil
	}
	first := s.make.item(s.change.Lenient, of, 0, 0)
	lists := []any{[]any{first, cloned(first)}}
	if object, ok := first.(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(of.Properties)) {
			a, b := with(object, name, s.make.nth(property(of, name), 0, 0)), with(object, name, s.make.nth(property(of, name), 1, 0))
			lists = append(lists, []any{a, b})
		}
	}
	return lists
}

// beside yields the values near the current one, and those near these.
func (s *search) beside(current any, yield func(value) bool) {
	queue, seen := []any{current}, map[string]bool{}
	h := s.make.hintsOf(append(rulesOf(s.change.Lenient), s.logic())...)
	for made := 0; len(queue) > 0; {
		from := queue[0]
		queue = queue[1:]
		for v := range s.make.neighbours(s.change.Lenient, from, h, 1) {
			if key := keyOf(v); !seen[key] {
				seen[key] = true
				if made += len(key); made > mostValues || s.ended() || s.broken(nil, v) && !yield(value{value: v}) {
					return
				}
				queue = append(queue, v)
			}
		}
	}
}

// searchRule yields values for which a rule does not hold, those that are near the current one first.
func (s *search) searchRule(current any, yield func(value) bool) {
	if s.rule == nil {
		return
	}
	h := s.make.hintsOf(append([]string{s.change.Name}, rulesOf(s.change.Lenient)...)...)
	depth := 1
	if len(s.change.Path) == 0 {
		depth = 0
	}
	if s.broken(nil, current) && !yield(value{value: current}) {
		return
	}
	queue, seen := []any{current}, map[string]bool{}
	for made := 0; len(queue) > 0; {
		from := queue[0]
		queue = queue[1:]
		for v := range s.make.neighbours(s.change.Lenient, from, h, depth) {
			key := keyOf(v)
			if seen[key] {
				continue
			}
			seen[key] = true
			if made += len(key); made > mostValues || s.ended() {
				return
			}
			if s.broken(nil, v) && !yield(value{value: v}) || s.rule.transition && s.broken(current, v) && !yield(value{v, true}) {
				return
			}
			queue = append(queue, v)
		}
	}
}

// smaller removes parts of a witness as long as it stays one.
func (s *search) smaller(version string, w *Witness) *Witness {
	for budget := mostSmaller; ; {
		next := (*Witness)(nil)
		for object := range reductions(w.Object, 0) {
			if budget--; budget < 0 {
				return w
			}
			if _, there := get(object, s.change.Path); !there && s.change.Lenient != nil && s.change.Keyword != change.KeywordDefault {
				continue
			}
			if next = s.try(version, w.Before, object); next != nil {
				break
			}
		}
		if next == nil {
			return w
		}
		w = next
	}
}

// reductions yields an object without one of its parts.
func reductions(object map[string]any, depth int) iter.Seq[map[string]any] {
	return func(yield func(map[string]any) bool) {
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if depth == 0 && (name == "apiVersion" || name == "kind" || name == "metadata") {
				continue
			}
			less := maps.Clone(object)
			delete(less, name)
			if !yield(less) {
				return
			}
			if inner, ok := object[name].(map[string]any); ok {
				for reduced := range reductions(inner, depth+1) {
					if !yield(with(object, name, reduced)) {
						return
					}
				}
			}
		}
	}
}

// Explain says that no witness was found.
func (r Result) Explain(c *change.Change) string {
	text := fmt.Sprintf("none of %d objects that were tried shows it", r.Tried)
	if r.Tried == 0 {
		text = "no object was found that is valid otherwise"
	}
	if c.Keyword == change.KeywordRule || strings.HasSuffix(c.Keyword, "Of") || c.Keyword == "not" {
		return text + ": the search cannot prove that there is none, check what the rule says"
	}
	return text + ": other constraints may exclude it"
}
