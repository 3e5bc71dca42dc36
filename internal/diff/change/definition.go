package change

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

type (
	crd     = apiextensionsv1.CustomResourceDefinition
	version = apiextensionsv1.CustomResourceDefinitionVersion
)

// Removed returns the change for a removed CRD.
func Removed(of *crd) Change {
	return Change{Keyword: KeywordCRD, Name: of.Name, Message: "the CRD was removed",
		Breaks: []Class{Writers, Readers, Stored}}
}

// Between returns the changes from one CRD to another with the same name.
func Between(before, after *crd) []Change {
	d := &comparison{before: before, after: after}
	d.whole()
	for i := range before.Spec.Versions {
		old := &before.Spec.Versions[i]
		now := Version(after, old.Name)
		d.served(old, now)
		if now == nil {
			continue
		}
		if so, sn := SchemaOf(old), SchemaOf(now); so != nil && sn != nil {
			d.found = append(d.found, schemas(old.Name, so, sn)...)
		}
		if old.Served && now.Served {
			d.views(old, now)
		}
	}
	d.storage()
	return d.found
}

// Version returns a version of a CRD, or nil.
func Version(of *crd, name string) *version {
	i := slices.IndexFunc(of.Spec.Versions, func(v version) bool { return v.Name == name })
	if i < 0 {
		return nil
	}
	return &of.Spec.Versions[i]
}

// SchemaOf returns the schema of a version, or nil.
func SchemaOf(v *version) *Schema {
	if v == nil || v.Schema == nil {
		return nil
	}
	return v.Schema.OpenAPIV3Schema
}

// Storage returns the storage version, or nil.
func Storage(of *crd) *version {
	i := slices.IndexFunc(of.Spec.Versions, func(v version) bool { return v.Storage })
	if i < 0 {
		return nil
	}
	return &of.Spec.Versions[i]
}

// comparison collects the changes between two CRDs.
type comparison struct {
	before, after *crd
	found         []Change
}

func (d *comparison) add(c Change) { d.found = append(d.found, c) }

// whole compares the parts that all versions share.
func (d *comparison) whole() {
	old, now := &d.before.Spec, &d.after.Spec
	if old.Scope != now.Scope {
		d.add(Change{
			Keyword: KeywordScope, Name: "scope", Message: changed("scope", string(old.Scope), string(now.Scope)),
			Breaks: []Class{Writers, Readers, Stored},
		})
	}
	if old.Names.Kind != now.Names.Kind {
		d.add(Change{
			Keyword: KeywordNames, Name: "kind", Message: changed("kind", old.Names.Kind, now.Names.Kind),
			Breaks: []Class{Writers, Readers, Stored},
		})
	}
	const typed = "objects do not contain this name: users type it, and clients look it up"
	d.lost("short name", old.Names.ShortNames, now.Names.ShortNames, typed)
	d.lost("category", old.Names.Categories, now.Names.Categories, typed)
	d.renamed("singular name", cmp.Or(old.Names.Singular, strings.ToLower(old.Names.Kind)),
		cmp.Or(now.Names.Singular, strings.ToLower(now.Names.Kind)), typed)
	d.renamed("list kind", cmp.Or(old.Names.ListKind, old.Names.Kind+"List"),
		cmp.Or(now.Names.ListKind, now.Names.Kind+"List"), "lists have this kind, objects do not")
	if old.PreserveUnknownFields && !now.PreserveUnknownFields {
		d.add(Change{
			Keyword: KeywordPruning, Name: "all", Message: "preserveUnknownFields was removed: unknown fields are now dropped",
			Breaks: []Class{Writers, Stored}, Version: nameOf(Storage(d.before)),
		})
	}
	if strategy(d.before) == apiextensionsv1.WebhookConverter && strategy(d.after) == apiextensionsv1.NoneConverter &&
		len(now.Versions) > 1 {
		d.add(Change{
			Keyword: KeywordConversion, Name: "strategy", Message: changed("conversion", "Webhook", "None"),
			Breaks: []Class{Readers, Stored},
			Why:    "the CRD does not show what the webhook converts; without it, fields that differ between versions are lost",
		})
	}
}

func nameOf(v *version) string {
	if v == nil {
		return ""
	}
	return v.Name
}

func strategy(of *crd) apiextensionsv1.ConversionStrategyType {
	if of.Spec.Conversion == nil || of.Spec.Conversion.Strategy == "" {
		return apiextensionsv1.NoneConverter
	}
	return of.Spec.Conversion.Strategy
}

func (d *comparison) lost(what string, before, after []string, why string) {
	for _, name := range before {
		if !slices.Contains(after, name) {
			d.add(Change{Keyword: KeywordNames, Name: what + " " + name, Message: what + " " + name + " was removed",
				Breaks: []Class{Readers}, Why: why})
		}
	}
}

func (d *comparison) renamed(what, before, after, why string) {
	if before != after {
		d.add(Change{Keyword: KeywordNames, Name: what, Message: changed(what, before, after), Breaks: []Class{Readers},
			Why: why})
	}
}

// served reports a version that was removed or is no longer served. A new version is such a change for a downgrade.
func (d *comparison) served(old, now *version) {
	c := Change{Version: old.Name, Keyword: KeywordVersion, Name: old.Name, Breaks: []Class{Writers, Readers}}
	switch {
	case now == nil && (old.Storage || slices.Contains(d.before.Status.StoredVersions, old.Name)):
		c.Breaks = []Class{Writers, Readers, Stored}
		c.Message = "version " + old.Name + ", in which objects are stored, was removed"
		if !old.Served {
			c.Breaks, c.Why = []Class{Stored}, "no client can write it; API servers refuse to remove a version in "+
				"status.storedVersions"
		}
	case !old.Served || now != nil && now.Served:
		return
	case now == nil:
		c.Message = "version " + old.Name + " was removed"
	default:
		c.Message = "version " + old.Name + " is no longer served"
	}
	d.add(c)
}

// storage compares the storage versions, and reports new versions.
func (d *comparison) storage() {
	for i := range d.after.Spec.Versions {
		now := &d.after.Spec.Versions[i]
		if old := Version(d.before, now.Name); now.Served && (old == nil || !old.Served) {
			message := "version " + now.Name + " was added"
			if old != nil {
				message = "version " + now.Name + " is now served"
			}
			d.add(Change{Version: now.Name, Keyword: KeywordVersion, Name: now.Name, Message: message,
				Breaks: []Class{Downgrade}, Backward: true})
		}
	}
	old, now := Storage(d.before), Storage(d.after)
	if old == nil || now == nil || old.Name == now.Name {
		return
	}
	message := changed("storage version", old.Name, now.Name)
	if Version(d.before, now.Name) == nil {
		d.add(Change{
			Version: now.Name, Keyword: KeywordStorage, Name: now.Name, Message: message, Breaks: []Class{Downgrade},
			Why: "API servers reject a CRD without a version in status.storedVersions: migrate the stored objects back first",
		})
	}
	if strategy(d.after) == apiextensionsv1.NoneConverter {
		d.dropped(message, now)
	}
}

// dropped reports fields that objects lose because the new storage version does not have them.
func (d *comparison) dropped(message string, stored *version) {
	for i := range d.after.Spec.Versions {
		v := &d.after.Spec.Versions[i]
		if v.Name == stored.Name || !v.Served || Version(d.before, v.Name) == nil || SchemaOf(v) == nil ||
			SchemaOf(stored) == nil {
			continue
		}
		w := walk{version: v.Name}
		w.node(nil, SchemaOf(v), SchemaOf(stored))
		for _, c := range w.found {
			if c.Keyword == KeywordField {
				c.Keyword, c.Message, c.Breaks = KeywordStorage, fmt.Sprintf("%s, which has no field %s", message, c.Name),
					[]Class{Writers, Readers, Stored}
				d.add(c)
			}
		}
	}
}

// views compares the parts of a version that do not affect the content of its objects: columns, selectable fields and
// subresources.
func (d *comparison) views(old, now *version) {
	for _, column := range old.AdditionalPrinterColumns {
		i := slices.IndexFunc(now.AdditionalPrinterColumns,
			func(c apiextensionsv1.CustomResourceColumnDefinition) bool { return c.Name == column.Name })
		c := Change{
			Version: old.Name, Keyword: KeywordColumn, Name: column.Name, Breaks: []Class{Readers},
			Why: "columns are part of the tables that kubectl prints, not of objects",
		}
		what := "printer column " + column.Name
		switch {
		case i < 0:
			c.Message = what + " was removed"
		case now.AdditionalPrinterColumns[i].JSONPath != column.JSONPath:
			c.Message = what + ": " + changed("path", column.JSONPath, now.AdditionalPrinterColumns[i].JSONPath)
		case now.AdditionalPrinterColumns[i].Type != column.Type:
			c.Message = what + ": " + changed("type", column.Type, now.AdditionalPrinterColumns[i].Type)
		case column.Priority == 0 && now.AdditionalPrinterColumns[i].Priority > 0:
			c.Message = what + " is now shown only with -o wide"
		default:
			continue
		}
		d.add(c)
	}
	for _, field := range old.SelectableFields {
		if !slices.Contains(now.SelectableFields, field) {
			d.add(Change{
				Version: old.Name, Keyword: KeywordSelectable, Name: field.JSONPath, Message: "selectable field " + field.JSONPath +
					" was removed",
				Breaks: []Class{Readers}, Why: "the same objects are valid; lists and watches with the field selector are rejected",
			})
		}
	}
	d.subresources(old, now)
}

func (d *comparison) subresources(old, now *version) {
	so, sn := old.Subresources, now.Subresources
	hadStatus, hasStatus := so != nil && so.Status != nil, sn != nil && sn.Status != nil
	if hadStatus != hasStatus {
		c := Change{Version: old.Name, Keyword: KeywordStatus, Name: "status", Breaks: []Class{Writers},
			Message: "subresource status was added"}
		if hadStatus {
			c.Message = "subresource status was removed"
		}
		if s := SchemaOf(old); s == nil || s.Properties["status"].Type == "" && !Preserves(s) {
			c.Why = "objects have no status; clients that write to the path /status get another response"
		}
		d.add(c)
	}
	scale := func(s *apiextensionsv1.CustomResourceSubresources) string {
		if s == nil || s.Scale == nil {
			return ""
		}
		text := s.Scale.SpecReplicasPath + " " + s.Scale.StatusReplicasPath
		if s.Scale.LabelSelectorPath != nil {
			text += " " + *s.Scale.LabelSelectorPath
		}
		return text
	}
	if before, after := scale(so), scale(sn); before != "" && before != after {
		d.add(Change{
			Version: old.Name, Keyword: KeywordScale, Name: "scale", Breaks: []Class{Writers, Readers},
			Message: changed("subresource scale", before, after),
			Why: "the same objects are valid; kubectl scale and autoscalers read and write the path /scale, which is not " +
				"part of objects",
		})
	}
}
