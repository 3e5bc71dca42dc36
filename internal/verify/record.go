package verify

import (
	"go/token"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
	"github.com/kctrl-dev/kctrl/internal/verify/manifest"
)

// record has the findings in one CRD of a YAML file. It is cached, because it depends only on the text.
type record struct {
	// Name and Group are the name and group of the CRD, and Pos is the position of the name. They are empty if the CRD
	// cannot be read.
	Name, Group string
	Pos         token.Position
	// Partial reports whether the CRD has none of the required fields, and so is a patch.
	Partial  bool
	Findings []Finding
}

// recordOf checks a CRD, or returns the cached result for the same text.
func (r *run) recordOf(d manifest.Document) record {
	key, keyed := incremental.NewTextKey(slices.Concat([][]byte{[]byte("verify")}, d.Key())...)
	var found record
	if keyed && r.Cache.GetValue(key, &found) {
		return found
	}
	found = check(d)
	if keyed {
		r.Cache.PutValue(key, found)
	}
	return found
}

// check checks a CRD.
func check(d manifest.Document) record {
	var found record
	of, err := d.Definition()
	found.add(err, false)
	if of == nil {
		return found
	}
	spec := of.CRD.Spec
	found.Name, found.Group, found.Pos = of.CRD.Name, spec.Group, of.At("metadata", "name")
	if found.Partial = of.IsPatch(); found.Partial {
		// A patch in a file that the user named causes a single finding.
		found.add(of.Patch(), false)
		return found
	}
	refused, dead := of.Problems()
	found.add(of.Unknown(), true)
	found.add(refused, false)
	found.add(dead, true)
	return found
}

func (f *record) add(err error, warning bool) {
	f.Findings = append(f.Findings, findings(err, warning)...)
}
