package verify

import (
	"encoding/json"
	"errors"
	"go/token"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
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
	Findings []recorded
}

// recorded is a finding in the cache.
type recorded struct {
	Pos                 token.Position
	Message, Hint, Code string
	Warning             bool
}

// recordOf checks a CRD, or returns the cached result for the same text.
func (r *run) recordOf(d manifest.Document) record {
	key, keyed := incremental.NewTextKey(slices.Concat([][]byte{[]byte("verify")}, d.Key())...)
	var found record
	if keyed {
		if entry, ok := r.Cache.Get(key); ok && len(entry.Files) == 1 &&
			json.Unmarshal(entry.Files[0].Content, &found) == nil {
			return found
		}
	}
	found = check(d)
	if text, err := json.Marshal(found); err == nil && keyed {
		// Cache write errors are ignored.
		_ = r.Cache.Put(key, &incremental.Entry{Files: []artifact.File{{Path: d.File, Content: text}}})
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
	for _, e := range diagnostic.All(err) {
		d, ok := errors.AsType[*diagnostic.Error](e)
		if !ok {
			d = &diagnostic.Error{Message: e.Error()}
		}
		f.Findings = append(f.Findings, recorded{d.Pos, d.Message, d.Hint, d.Code, warning})
	}
}
