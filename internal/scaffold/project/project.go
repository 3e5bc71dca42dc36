package project

import (
	"errors"
	"fmt"
	"go/token"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// RuntimeMode selects the source of a project's runtime.
type RuntimeMode string

// The runtime modes. Bundled is the source in third_party/kctrl; Module is the published Go module.
const (
	Bundled RuntimeMode = "bundled"
	Module  RuntimeMode = "module"
)

// The issuers of webhook certificates: the operator itself, or cert-manager.
const (
	SelfSigned  = "self-signed"
	CertManager = "cert-manager"
)

// Project is the PROJECT file. Create one as a literal or with [Load], change its fields, and write the result of
// [Project.Marshal]. It is not safe for concurrent use.
type Project struct {
	// Domain is the suffix of the project's API groups.
	Domain string
	// Repo is the path of the Go module.
	Repo string
	// Name is the name prefix of everything that the project deploys.
	Name string
	// MultiGroup gives every group its own directory: api/<group>/<version>, internal/controller/<group>.
	MultiGroup bool
	// Namespaced limits the operator's watches and RBAC permissions to single namespaces.
	Namespaced bool
	// APIModule means that kctrl maintains api, the directory of the API packages, as a separate Go module. If the user
	// made it a module, it is one regardless of this field.
	APIModule bool
	// Runtime is the source of the runtime; empty means Bundled.
	Runtime RuntimeMode
	// Owner is the copyright holder in the header of generated files.
	Owner string
	// License is "apache2" or "none"; empty means "apache2".
	License string
	// Certificates is the issuer of webhook certificates, SelfSigned or CertManager; empty means SelfSigned.
	Certificates string
	// Kctrl is the version of the kctrl that wrote the project's files; empty means unknown. Commands that add kinds do
	// not change it, so that branches that add kinds do not conflict there.
	Kctrl string
	// Resources are the kinds of the project in the order they were added.
	Resources []Resource
	// Foreign is set for a kubebuilder project or a plain Go module. kctrl then writes only the files that markers
	// request. The PROJECT file does not contain this field.
	Foreign bool

	// source is the text from which the project was loaded; it is nil for a new project.
	source []byte
	// places has the positions of values in source, by field name: "domain", "resources[0].kind".
	places   map[string]place
	warnings []*diagnostic.Error
}

// Resource is one kind of a project.
type Resource struct {
	// Group is the API group without the domain. It may be empty if Domain is not.
	Group string
	// Domain is the suffix of the API group: the project's domain, unless the kind is external.
	Domain string
	// Version is the API version.
	Version string
	// Kind is the name of the Go type.
	Kind string
	// Plural is the name of the resource in the API.
	Plural string
	// Namespaced is true for namespaced kinds, and false for cluster-scoped ones.
	Namespaced bool
	// API is set if the project defines the kind: Go type and CRD.
	API bool
	// Controller is set if the project has a controller for the kind.
	Controller bool
	// Controllers are the names of additional controllers of the kind.
	Controllers []string
	// Path is the import path of an external kind's Go types, such as k8s.io/api/apps/v1.
	Path string
	// Hub is the version to and from which objects of this version are converted. It is empty for the hub itself, and for
	// kinds without conversion.
	Hub string
	// Defaulting and Validation are set if the kind has the respective webhook, and Policy is set if it has a
	// ValidatingAdmissionPolicy.
	Defaulting, Validation, Policy bool
	// APIFlags are the flags of create api for the kind, except its names, in the form in which users type them:
	// "--field=size:int32,min=1". DefaultingFlags, ValidationFlags and PolicyFlags are the flags of create webhook. From
	// them kctrl derives what it wrote before the user's edits. They are empty in projects of older versions of kctrl.
	// Commands replace a list instead of modifying it.
	APIFlags, DefaultingFlags, ValidationFlags, PolicyFlags []string
}

// APIGroup returns the full API group, such as webapp.example.com.
func (r Resource) APIGroup() string {
	switch {
	case r.Group == "":
		return r.Domain
	case r.Domain == "":
		return r.Group
	}
	return r.Group + "." + r.Domain
}

// String returns group/version.kind for messages, as in webapp.example.com/v1.Guestbook.
func (r Resource) String() string {
	return strings.TrimPrefix(r.APIGroup()+"/", "/") + r.Version + "." + r.Kind
}

// Warnings returns an error for each unknown field of the file, in order.
func (p *Project) Warnings() []*diagnostic.Error { return p.warnings }

// Find returns the resource of an API group, version and kind. The pointer is valid until Resources changes.
func (p *Project) Find(apiGroup, version, kind string) (*Resource, bool) {
	for i := range p.Resources {
		if r := &p.Resources[i]; r.APIGroup() == apiGroup && r.Version == version && r.Kind == kind {
			return r, true
		}
	}
	return nil, false
}

// Index returns the index of the resource with the kind and the version of r, or -1.
func (p *Project) Index(r Resource) int {
	return slices.IndexFunc(p.Resources, func(o Resource) bool {
		return o.APIGroup() == r.APIGroup() && o.Version == r.Version && o.Kind == r.Kind
	})
}

// Versions returns the other versions of r's kind, in the order of the project. The pointers are valid until Resources
// changes.
func (p *Project) Versions(r Resource) []*Resource {
	var others []*Resource
	for i := range p.Resources {
		if o := &p.Resources[i]; o.APIGroup() == r.APIGroup() && o.Kind == r.Kind && o.Version != r.Version {
			others = append(others, o)
		}
	}
	return others
}

// Add checks a resource and appends it. If the resource already exists or conflicts with another resource of its group,
// it returns a *diagnostic.Error of class diagnostic.ErrUsage.
func (p *Project) Add(r Resource) error {
	at := len(p.Resources)
	name := resourceName(at)
	err := errors.Join(p.checkFields(name, resourceFields(&r)), p.checkGroup(name, r), p.checkOthers(at, r))
	if err != nil {
		return err
	}
	p.Resources = append(p.Resources, r)
	return nil
}

// Validate checks the values of all fields. It joins all errors; each is a *diagnostic.Error. An error about a value
// that was loaded from a file and has not changed has a position; other errors are of class diagnostic.ErrUsage.
func (p *Project) Validate() error {
	errs := []error{p.checkFields("", projectFields(p))}
	for i, r := range p.Resources {
		name := resourceName(i)
		errs = append(errs, p.checkFields(name, resourceFields(&r)), p.checkGroup(name, r), p.checkOthers(i, r))
	}
	return errors.Join(errs...)
}

func (p *Project) checkFields(prefix string, fields []field) error {
	var errs []error
	for _, f := range fields {
		name := prefix + f.key
		switch value := f.value.(type) {
		case *[]string:
			for _, text := range *value {
				errs = append(errs, p.placed(name, "", f.check(text)))
			}
		case *string:
			switch {
			case *value == "" && !f.required || p.places[name].broken:
			case *value == "":
				errs = append(errs, p.problem(prefix, "", f.key+" is missing", "write "+f.key+": "+f.example))
			case f.check != nil:
				errs = append(errs, p.placed(name, *value, f.check(*value)))
			}
		}
	}
	return errors.Join(errs...)
}

// placed returns an error about the value of a field as [Project.problem] does, or nil.
func (p *Project) placed(name, value string, err error) error {
	if e, ok := errors.AsType[*diagnostic.Error](err); ok {
		return p.problem(name, value, e.Message, e.Hint)
	}
	return nil
}

// checkGroup rejects a kind of the project that has no API group.
func (p *Project) checkGroup(name string, r Resource) error {
	if !r.API || r.APIGroup() != "" {
		return nil
	}
	return p.problem(name, "", "neither group nor domain is given", "write group: webapp")
}

// checkOthers compares a resource with the resources before index at, which may be one past the end.
func (p *Project) checkOthers(at int, r Resource) error {
	name := resourceName(at)
	for _, other := range p.Resources[:at] {
		if other.APIGroup() != r.APIGroup() {
			continue
		}
		sameKind := strings.EqualFold(other.Kind, r.Kind)
		switch {
		case sameKind && other.Version == r.Version:
			return p.problem(name+"kind", r.Kind, fmt.Sprintf("the kind %s exists already", other),
				"give it another kind, version or group")
		case sameKind && other.Plural != r.Plural:
			return p.problem(name+"plural", r.Plural, fmt.Sprintf("the plural of %s is %s, not %s", other, other.Plural,
				r.Plural),
				"use the same plural for all versions of a kind")
		case sameKind && other.Namespaced != r.Namespaced:
			return p.problem(name+"namespaced", "", fmt.Sprintf("%s has another scope than %s", r, other),
				"use the same scope for all versions of a kind")
		case !sameKind && other.Plural == r.Plural:
			return p.problem(name+"plural", r.Plural, fmt.Sprintf("the plural %s belongs to %s", r.Plural, other),
				"give the kind another plural")
		}
	}
	return nil
}

// problem returns an error about a field. The error has a position if the field still has the loaded value.
func (p *Project) problem(name, value, message, hint string) error {
	e := diagnostic.Usage(message, hint)
	if at, ok := p.places[name]; ok && (value == "" || at.value == value) {
		e.Pos, e.Class = at.pos, nil
	}
	return e
}

// resourceName returns the prefix of a resource's field names.
func resourceName(at int) string { return fmt.Sprintf("resources[%d].", at) }

// Clone returns a copy of the project with its own list of resources.
func (p *Project) Clone() *Project {
	c := *p
	c.Resources = slices.Clone(p.Resources)
	return &c
}

// Unloaded returns a [Project.Clone] without the text from which the project was loaded.
func (p *Project) Unloaded() *Project {
	c := p.Clone()
	c.source, c.places, c.warnings = nil, nil, nil
	return c
}

// Position returns the position of a field, such as "controller", in the resource at an index. If field is empty, it
// returns the position of the resource. The position is invalid if the resource was not loaded from a file.
func (p *Project) Position(at int, field string) token.Position {
	return p.places[resourceName(at)+field].pos
}
