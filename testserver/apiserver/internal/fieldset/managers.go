package fieldset

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Writer is who writes an object, and by which resource.
type Writer struct {
	Manager     string   // not empty
	Version     string   // the apiVersion of the object
	Subresource string   // nothing for the resource itself
	Reset       []string // fields of the object, such as status, that the resource does not write
	Time        string   // of a second, as objects have it
}

// manager is an entry of managedFields.
type manager struct {
	name, operation, subresource, time string
	fields                             Set
	entry                              map[string]any // as it was; nil when something has changed
}

const (
	updates, applies = "Update", "Apply"
	// most is how many entries of updates an object may have; of more the library merges the oldest.
	most = 10
)

// unmanaged are the fields of metadata that nobody manages.
var unmanaged = map[string]bool{
	"name": true, "namespace": true, "creationTimestamp": true, "selfLink": true, "uid": true, "clusterName": true, "generation": true,
	"managedFields": true, "resourceVersion": true,
}

// Update is the managedFields of an object that was one and is another now, by a write that is no apply. A new object was nil. What
// the metadata of now say of managedFields is not looked at.
func (t *Type) Update(was, now map[string]any, managed []any, w Writer) ([]any, bool) {
	managers, ok := t.parse(managed, w.Version)
	if !ok || len(managers) == 0 && was != nil {
		return nil, false
	}
	c, ok := t.changes(was, now, w.Reset)
	if !ok {
		return nil, false
	}
	managers = lose(managers, c, -1)
	if len(c.touched) == 0 {
		return entries(managers, w.Version), true
	}
	own := slices.IndexFunc(managers, func(m manager) bool { return m.is(w, updates) })
	if own < 0 {
		own = len(managers)
		managers = append(managers, manager{name: w.Manager, operation: updates, subresource: w.Subresource})
	}
	m := &managers[own]
	m.fields, m.time, m.entry = union(m.fields, c.touched), w.Time, nil
	count := 0
	for _, m := range managers {
		if m.operation == updates {
			count++
		}
	}
	return entries(managers, w.Version), count <= most
}

// Apply is the managedFields of an object that was one, of which a configuration was applied, by which it is now. A new object was nil.
// Where others manage what differs that is only certain with force.
func (t *Type) Apply(was, applied, now map[string]any, managed []any, w Writer, force bool) ([]any, bool) {
	managers, ok := t.parse(managed, w.Version)
	if !ok || len(managers) == 0 && was != nil {
		return nil, false
	}
	stated, ok := t.statedBy(applied, w.Reset)
	if !ok {
		return nil, false
	}
	c, ok := t.changes(was, now, w.Reset)
	if !ok || len(c.removed) > 0 {
		return nil, false
	}
	own := slices.IndexFunc(managers, func(m manager) bool { return m.is(w, applies) })
	if own < 0 {
		own = len(managers)
		managers = append(managers, manager{name: w.Manager, operation: applies, subresource: w.Subresource})
	}
	if !within(managers[own].fields, stated) {
		return nil, false // fields that nobody applies any more go
	}
	for i := range managers {
		if i != own && !force && overlap(managers[i].fields, c.touched) {
			return nil, false // a conflict
		}
	}
	if m := &managers[own]; !within(stated, m.fields) {
		m.fields, m.entry = stated, nil
	}
	if was == nil || !Equal(was, now) {
		managers[own].time, managers[own].entry = w.Time, nil
	}
	return entries(lose(managers, c, own), w.Version), true
}

// is reports whether an entry is the writer's.
func (m manager) is(w Writer, operation string) bool {
	return m.name == w.Manager && m.operation == operation && m.subresource == w.Subresource
}

// lose takes from managers, but the one at keep, what somebody else has changed, and from all what is gone. Those that have nothing
// left go.
func lose(managers []manager, c change, keep int) (left []manager) {
	for i := range managers {
		m := managers[i]
		if i != keep && overlap(m.fields, c.touched) {
			m.fields, m.entry = difference(m.fields, c.touched), nil
		}
		if overlap(m.fields, c.removed) {
			m.fields, m.entry = difference(m.fields, c.removed), nil
		}
		if len(m.fields) > 0 {
			left = append(left, m)
		}
	}
	return left
}

// changes are what a write of a resource has changed in an object, of the fields that somebody manages.
func (t *Type) changes(was, now map[string]any, reset []string) (c change, ok bool) {
	if t.object == nil || t.object.atomic {
		return c, false
	}
	add := func(name string, before any, was bool, after any, is bool) bool {
		of := t.object.of(name)
		switch {
		case of == nil:
			return false
		case name == "apiVersion" || name == "kind":
			return true
		case slices.Contains(reset, name):
			return name == "metadata" || (!was || of.conforms(before, false)) && (!is || of.conforms(after, false))
		}
		if name == "metadata" {
			inner, ok := of.metadata(before, after)
			if len(inner.touched) > 0 {
				set(&c.touched, "f:metadata", inner.touched)
			}
			if len(inner.removed) > 0 {
				set(&c.removed, "f:metadata", inner.removed)
			}
			return ok
		}
		return c.add("f:"+name, of, before, was, after, is)
	}
	for name, after := range now {
		before, there := was[name]
		if !add(name, before, there, after, true) {
			return c, false
		}
	}
	for name, before := range was {
		if _, there := now[name]; !there && !add(name, before, true, nil, false) {
			return c, false
		}
	}
	return c, was == nil || t.takes(now)
}

// takes reports whether the library takes an object, in what has not changed too.
func (t *Type) takes(object map[string]any) bool {
	for name, value := range object {
		of := t.object.of(name)
		if name == "metadata" {
			metadata, ok := value.(map[string]any)
			value = managed(metadata)
			if !ok {
				return false
			}
		}
		if of == nil || !of.conforms(value, false) {
			return false
		}
	}
	return true
}

// metadata are the changes of an object's metadata.
func (t *Type) metadata(before, after any) (c change, ok bool) {
	if t.object == nil || t.object.atomic {
		return c, false
	}
	was, _ := before.(map[string]any)
	now, _ := after.(map[string]any)
	return t.object.compare(managed(was), managed(now))
}

// managed are the fields of metadata that somebody manages.
func managed(metadata map[string]any) map[string]any {
	rest := make(map[string]any, len(metadata))
	for name, value := range metadata {
		if !unmanaged[name] {
			rest[name] = value
		}
	}
	return rest
}

// statedBy are the fields that a configuration says something of, of those that somebody manages.
func (t *Type) statedBy(applied map[string]any, reset []string) (stated Set, ok bool) {
	stated, ok = t.stated(applied, true)
	if !ok {
		return nil, false
	}
	stated = maps.Clone(stated)
	for _, name := range append([]string{"apiVersion", "kind"}, reset...) {
		delete(stated, "f:"+name)
	}
	if metadata, ok := stated["f:metadata"].(Set); ok {
		metadata = maps.Clone(metadata)
		delete(metadata, self)
		for name := range unmanaged {
			delete(metadata, "f:"+name)
		}
		if stated["f:metadata"] = metadata; len(metadata) == 0 {
			delete(stated, "f:metadata")
		}
	}
	return stated, true
}

// parse reads managedFields. It is certain about entries of one version that the schema has not changed under.
func (t *Type) parse(managed []any, version string) (managers []manager, ok bool) {
	for _, entry := range managed {
		m, ok := parse(entry, version)
		if !ok || !t.holds(m.fields) {
			return nil, false
		}
		for _, other := range managers {
			if m.name == other.name && m.operation == other.operation && m.subresource == other.subresource {
				return nil, false
			}
		}
		managers = append(managers, m)
	}
	return managers, true
}

func parse(entry any, version string) (m manager, ok bool) {
	m.entry, _ = entry.(map[string]any)
	fields, _ := m.entry["fieldsV1"].(Set)
	m.fields = fields
	for name, to := range map[string]*string{"manager": &m.name, "operation": &m.operation, "subresource": &m.subresource, "time": &m.time} {
		value, there := m.entry[name]
		if *to, ok = value.(string); there && !ok {
			return m, false
		}
	}
	return m, m.entry["apiVersion"] == version && m.entry["fieldsType"] == "FieldsV1" && (m.operation == updates || m.operation == applies) &&
		m.name != "" && len(fields) > 0 && well(fields) && fields[self] == nil
}

// holds reports whether a set has nothing in fields that are managed as a whole, as it has when these were not before.
func (t *Type) holds(s Set) bool {
	for name, child := range s {
		if name == self {
			continue
		}
		child := child.(Set)
		var of *Type
		switch field, isField := strings.CutPrefix(name, "f:"); {
		case isField && t.object != nil:
			if of = t.object.of(field); of == nil {
				continue
			}
		case !isField && t.object == nil && t.list != nil:
			of = t.list.element
		default:
			return false
		}
		if len(children(child)) > 0 && (of.whole() || !of.holds(child)) {
			return false
		}
	}
	return true
}

// whole reports whether a value is managed as a whole.
func (t *Type) whole() bool {
	if t.object != nil {
		return t.object.atomic
	}
	return t.list == nil || t.list.atomic
}

// entries are managers as managedFields has them.
func entries(managers []manager, version string) []any {
	slices.SortFunc(managers, func(a, b manager) int {
		return cmp.Or(cmp.Compare(a.operation, b.operation), cmp.Compare(a.time, b.time), cmp.Compare(a.name, b.name), cmp.Compare(a.subresource, b.subresource))
	})
	var list []any
	for _, m := range managers {
		if m.entry == nil {
			m.entry = map[string]any{"apiVersion": version, "fieldsType": "FieldsV1", "fieldsV1": m.fields, "manager": m.name, "operation": m.operation}
			if m.subresource != "" {
				m.entry["subresource"] = m.subresource
			}
			if m.time != "" {
				m.entry["time"] = m.time
			}
		}
		list = append(list, m.entry)
	}
	return list
}
