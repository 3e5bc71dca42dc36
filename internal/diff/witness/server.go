// Package witness finds objects that show the effect of a change of a CRD.
//
// A [Server] responds to writes like an API server with one CRD, using the libraries of API servers. A [Finder] creates
// objects that one server accepts, and varies the field of a change until another server rejects or changes the object.
// Both servers confirm the result, and the finder removes parts that are not needed.
package witness

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/internal/diff/change"
	"github.com/kctrl-dev/kctrl/internal/expression"
	"github.com/kctrl-dev/kctrl/internal/verify/sample"
)

// Server models an API server with one CRD, or with none.
type Server struct {
	crd   *apiextensionsv1.CustomResourceDefinition
	kinds sample.Kinds
}

// NewServer returns a server with a CRD. Nil means no CRD.
func NewServer(crd *apiextensionsv1.CustomResourceDefinition) *Server {
	s := &Server{crd: crd}
	if crd == nil {
		return s
	}
	if crd.Spec.PreserveUnknownFields {
		crd = crd.DeepCopy()
		for i := range crd.Spec.Versions {
			edit(change.SchemaOf(&crd.Spec.Versions[i]), func(s *props) { // keep unknown fields at all levels
				if s.Type == "object" && s.AdditionalProperties == nil {
					s.XPreserveUnknownFields = new(true)
				}
			})
		}
	}
	s.kinds.Add(crd)
	return s
}

// Outcome is the result of a write.
type Outcome struct {
	// Object is the stored object. It is nil if the resource does not exist.
	Object map[string]any
	// Refused are the reasons for rejecting the write. Dropped are the dropped fields.
	Refused, Dropped []sample.Problem
}

// Request is a write of an object.
type Request struct {
	Version string
	Object  map[string]any
	// Before is the object that Object replaces. Nil means that Object is created.
	Before map[string]any
	// Status reports whether the status is written too, at the path /status if the kind has that subresource.
	Status bool
}

// Write returns the result of a write.
func (s *Server) Write(r Request) Outcome {
	version, object := r.Version, r.Object
	if reason := s.unserved(version, object); reason != "" {
		return Outcome{Refused: []sample.Problem{{Field: "kind", Code: sample.CodeKind, Message: reason}}}
	}
	out := Outcome{Object: runtime.DeepCopyJSON(object)}
	v := change.Version(s.crd, version)
	if v.Subresources != nil && v.Subresources.Status != nil && !r.Status {
		delete(out.Object, "status")
	}
	gvk := s.kind(version)
	for _, p := range s.kinds.CheckUpdate(gvk, out.Object, r.Before) {
		if p.Code == sample.CodeField {
			out.Dropped = append(out.Dropped, p)
		} else {
			out.Refused = append(out.Refused, p)
		}
	}
	if stored := change.Storage(s.crd); stored != nil && stored.Name != version && !converts(s.crd) {
		s.kinds.Reshape(s.kind(stored.Name), out.Object)
		s.kinds.Reshape(gvk, out.Object)
	}
	return out
}

// unserved returns the reason why the server does not serve the resource of an object, or "" if it does.
func (s *Server) unserved(version string, object map[string]any) string {
	if s.crd == nil {
		return "the kind does not exist: the CRD was removed"
	}
	gvk := s.kind(version)
	if v := change.Version(s.crd, version); v == nil || !v.Served {
		return fmt.Sprintf("kind %s does not exist in version %s", gvk.Kind, gvk.GroupVersion())
	}
	if kind, _ := object["kind"].(string); kind != gvk.Kind {
		return fmt.Sprintf("kind %s does not exist in version %s", kind, gvk.GroupVersion())
	}
	metadata, _ := object["metadata"].(map[string]any)
	if _, namespaced := metadata["namespace"]; namespaced != (s.crd.Spec.Scope == apiextensionsv1.NamespaceScoped) {
		return fmt.Sprintf("objects are %s", map[bool]string{true: "cluster-scoped", false: "in namespaces"}[namespaced])
	}
	return ""
}

func (s *Server) kind(version string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: s.crd.Spec.Group, Version: version, Kind: s.crd.Spec.Names.Kind}
}

// converts reports whether a webhook converts objects between versions.
func converts(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return crd.Spec.Conversion != nil && crd.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter
}

// accepts reports whether an object is written without changes except defaults.
func (o Outcome) accepts() bool { return len(o.Refused)+len(o.Dropped) == 0 }

// reason returns the reasons why a write is rejected. A problem of the given field comes first.
func (o Outcome) reason(field string) string {
	i := indexOf(o.Refused, field)
	return o.Refused[max(i, 0)].Message
}

// indexOf returns the index of a problem of a field or of its parts, or -1.
func indexOf(problems []sample.Problem, field string) int {
	if i := slices.IndexFunc(problems, func(p sample.Problem) bool { return p.Field == field }); i >= 0 {
		return i
	}
	return slices.IndexFunc(problems, func(p sample.Problem) bool { return strings.HasPrefix(p.Field, field) })
}

// explain returns why a write that shows a change is rejected. A dropped field comes first, because the server may
// reject the object for another reason.
func (o Outcome) explain(c *change.Change) string {
	field := sampleField(c.Path)
	switch c.Keyword {
	case change.KeywordRequired:
		field = strings.TrimPrefix(field+"."+c.Name, ".")
	case change.KeywordField, change.KeywordStorage, change.KeywordValues, change.KeywordPruning:
		if i := indexOf(o.Dropped, field); i >= 0 {
			return o.Dropped[i].Field + " is dropped; besides, " + o.reason("")
		}
	}
	if c.Lenient != nil && indexOf(o.Refused, field) < 0 {
		return c.Message + "; besides, " + o.reason("")
	}
	return o.reason(field)
}

// sampleField returns the field at a path in the notation of problems, up to the first item or key.
func sampleField(path []string) string {
	var text strings.Builder
	for i, step := range path {
		switch {
		case step == expression.Items:
			text.WriteString("[0]")
		case step == expression.Values:
			return text.String()
		case i > 0:
			text.WriteString("." + step)
		default:
			text.WriteString(step)
		}
	}
	return text.String()
}

// Breaks returns why strict rejects an object that lenient has stored, or which fields strict drops. It returns "" if
// the object does not change, or if the object is invalid on the lenient server as well.
func Breaks(lenient, strict *Server, version string, object map[string]any) string {
	for _, of := range []*Server{lenient, strict} {
		if of.crd != nil && of.crd.Spec.Scope != lenient.crd.Spec.Scope {
			return "objects are " + strings.ToLower(string(of.crd.Spec.Scope)) + "-scoped"
		}
	}
	request := Request{Version: version, Object: object, Status: true}
	if !lenient.Write(request).accepts() {
		return ""
	}
	got := strict.Write(request)
	switch {
	case len(got.Refused) > 0:
		return got.reason("")
	case len(got.Dropped) > 0:
		return got.Dropped[0].Field + " is dropped"
	}
	return ""
}
