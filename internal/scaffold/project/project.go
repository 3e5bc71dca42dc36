package project

import (
	"errors"
	"fmt"
	"go/token"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// RuntimeMode says where a project gets the runtime from.
type RuntimeMode string

// The runtime modes. Bundled is the source in third_party/kctrl; Module is the published Go module.
const (
	Bundled RuntimeMode = "bundled"
	Module  RuntimeMode = "module"
)

// Who makes the certificates of webhooks: the operator for itself, or cert-manager.
const (
	SelfSigned  = "self-signed"
	CertManager = "cert-manager"
)

// Project is the PROJECT file. Make a new one as a literal or load one with [Load], change the fields, and write what
// [Project.Marshal] returns. It belongs to one goroutine.
type Project struct {
	// Domain is what the API groups of the project end in.
	Domain string
	// Repo is the path of the Go module.
	Repo string
	// Name prefixes everything the project deploys.
	Name string
	// MultiGroup gives every group its own folder: api/<group>/<version>, internal/controller/<group>.
	MultiGroup bool
	// Namespaced makes the operator watch and be allowed to read single namespaces only.
	Namespaced bool
	// APIModule says that the folder of the API packages, api, is a Go module of its own, and that the files of the project know it. One
	// that somebody has made so is, whatever this says.
	APIModule bool
	// Runtime is where the runtime comes from; empty means Bundled.
	Runtime RuntimeMode
	// Owner holds the copyright, in the header of generated files.
	Owner string
	// License is "apache2" or "none"; empty means "apache2".
	License string
	// Certificates is who makes the certificates of the webhooks: SelfSigned or CertManager; empty means SelfSigned.
	Certificates string
	// Kctrl is the version of the kctrl that wrote the files of the project; empty means that it is not known. Only init
	// writes it, so that branches which add kinds do not meet there.
	Kctrl string
	// Resources are the kinds of the project in the order they were added.
	Resources []Resource
	// Foreign says that the project is not one of kctrl, but of kubebuilder or just a Go module: kctrl writes what its
	// markers ask for, and nothing else. It is not in the file.
	Foreign bool

	// source is the text the project was loaded from, nil for a new one.
	source []byte
	// places says where in source a value stands, by the name of its field: "domain", "resources[0].kind".
	places   map[string]place
	warnings []*diagnostic.Error
}

// Resource is one kind of a project.
type Resource struct {
	// Group is the API group without the domain; it may be empty when Domain is not.
	Group string
	// Domain ends the API group; it is the domain of the project unless the kind belongs to somebody else.
	Domain string
	// Version is the API version.
	Version string
	// Kind is the name of the Go type.
	Kind string
	// Plural is the name of the resource on the wire.
	Plural string
	// Namespaced says that objects live in namespaces. If false, the kind is cluster scoped.
	Namespaced bool
	// API says that the project defines the kind: Go type and CRD.
	API bool
	// Controller says that the project has a controller for the kind.
	Controller bool
	// Controllers are the names of further controllers of the kind.
	Controllers []string
	// Path is the import path of the Go types of a kind that is not the project's own, such as k8s.io/api/apps/v1.
	Path string
	// Hub is the version of the kind that objects of this version are converted to and from; empty for one that is not
	// converted, or is the hub itself.
	Hub string
	// Defaulting and Validation say that the project has the webhook of that name for the kind, Policy that it has a
	// ValidatingAdmissionPolicy.
	Defaulting, Validation, Policy bool
	// APIFlags is what create api was told of the kind beyond its names, DefaultingFlags, ValidationFlags and PolicyFlags what create
	// webhook was told of each, as it is typed: "--field=size:int32,min=1". What they say of files is in the files, which may have been
	// edited since; with them kctrl knows what it had written. They are empty in projects of kctrls that did not keep them. Commands
	// that change a list make a new one.
	APIFlags, DefaultingFlags, ValidationFlags, PolicyFlags []string
}

// APIGroup returns the whole API group: group and domain.
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

// Warnings returns the fields that were found in the file and that this kctrl does not know, in the order of the file.
func (p *Project) Warnings() []*diagnostic.Error { return p.warnings }

// Find returns the resource of an API group, version and kind. The pointer is good until Resources changes.
func (p *Project) Find(apiGroup, version, kind string) (*Resource, bool) {
	for i := range p.Resources {
		if r := &p.Resources[i]; r.APIGroup() == apiGroup && r.Version == version && r.Kind == kind {
			return r, true
		}
	}
	return nil, false
}

// Versions returns the other versions of the kind of r that the project has, in the order of the project. The pointers are
// good until Resources changes.
func (p *Project) Versions(r Resource) []*Resource {
	var others []*Resource
	for i := range p.Resources {
		if o := &p.Resources[i]; o.APIGroup() == r.APIGroup() && o.Kind == r.Kind && o.Version != r.Version {
			others = append(others, o)
		}
	}
	return others
}

// Add checks a resource and appends it. One that is there already, or that does not go with the others of its group, is
// a *diagnostic.Error of class diagnostic.ErrUsage.
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

// Validate checks the values of all fields and returns everything that is wrong, joined from *diagnostic.Error. What was
// loaded from a file and not changed since has its position; anything else is of class diagnostic.ErrUsage.
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
		if list, ok := f.value.(*[]string); ok {
			for _, text := range *list {
				if e, ok := errors.AsType[*diagnostic.Error](f.check(text)); ok {
					errs = append(errs, p.problem(prefix+f.key, "", e.Message, e.Hint))
				}
			}
		}
		text, isText := f.text()
		switch {
		case !isText || text == "" && !f.required || p.places[prefix+f.key].broken:
			continue
		case text == "":
			errs = append(errs, p.problem(prefix, "", fmt.Sprintf("%s is missing", f.key), fmt.Sprintf("write %s: %s", f.key, f.example)))
		case f.check != nil:
			if e, ok := errors.AsType[*diagnostic.Error](f.check(text)); ok {
				errs = append(errs, p.problem(prefix+f.key, text, e.Message, e.Hint))
			}
		}
	}
	return errors.Join(errs...)
}

// checkGroup refuses a kind of the project's own without an API group.
func (p *Project) checkGroup(name string, r Resource) error {
	if !r.API || r.APIGroup() != "" {
		return nil
	}
	return p.problem(name, "", "neither group nor domain is given", "write group: webapp")
}

// checkOthers compares the resource at an index, which may be one past the end, with those before it.
func (p *Project) checkOthers(at int, r Resource) error {
	name := resourceName(at)
	for _, other := range p.Resources[:at] {
		if other.APIGroup() != r.APIGroup() {
			continue
		}
		sameKind := strings.EqualFold(other.Kind, r.Kind)
		switch {
		case sameKind && other.Version == r.Version:
			return p.problem(name+"kind", r.Kind, fmt.Sprintf("the kind %s exists already", other), "give it another kind, version or group")
		case sameKind && other.Plural != r.Plural:
			return p.problem(name+"plural", r.Plural, fmt.Sprintf("the plural of %s is %s, not %s", other, other.Plural, r.Plural),
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

// problem reports a field by its name. It has a position if the field still holds the value that was loaded.
func (p *Project) problem(name, value, message, hint string) error {
	e := &diagnostic.Error{Message: message, Hint: hint, Class: diagnostic.ErrUsage}
	if at, ok := p.places[name]; ok && (value == "" || at.value == value) {
		e.Pos, e.Class = at.pos, nil
	}
	return e
}

// resourceName returns what the names of the fields of a resource begin with.
func resourceName(at int) string { return fmt.Sprintf("resources[%d].", at) }

// Blank returns a copy of the project as it was when it was new: without kinds, and without a text it was loaded from.
func (p *Project) Blank() *Project {
	blank := *p
	blank.Resources, blank.source, blank.places, blank.warnings = nil, nil, nil, nil
	return &blank
}

// Position returns where the file gives a field of the resource at an index, such as "controller", or, with no name, the whole resource. It is not valid if the
// resource was not loaded from a file.
func (p *Project) Position(at int, field string) token.Position {
	return p.places[resourceName(at)+field].pos
}
