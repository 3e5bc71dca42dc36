package access

import (
	"cmp"
	"go/token"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// The verbs of requests.
const (
	Get              = "get"
	List             = "list"
	Watch            = "watch"
	Create           = "create"
	Update           = "update"
	Patch            = "patch"
	Delete           = "delete"
	DeleteCollection = "deletecollection"
)

// Scope is the scope of a kind: the whole cluster or one namespace.
type Scope int

// The scopes.
const (
	ScopeUnknown Scope = iota
	ScopeNamespaced
	ScopeCluster
)

// Resource identifies a resource of the API server.
type Resource struct {
	Group string
	Name  string // plural, with "/" and the subresource if it has one; empty if the resource is unknown
}

// String returns the resource as kubectl prints it, such as "deployments.apps" and "pods/status".
func (r Resource) String() string {
	plural, sub, isSub := strings.Cut(r.Name, "/")
	if r.Group != "" {
		plural += "." + r.Group
	}
	if isSub {
		plural += "/" + sub
	}
	return plural
}

// Access is one request that a call can send.
type Access struct {
	Verb     string
	Resource Resource
	Scope    Scope
	// Guessed reports whether the plural is a guess from the name of the kind, because neither the markers nor the table
	// have it.
	Guessed bool
	// Doubt is the reason why the call may not send the request for this kind, or empty.
	Doubt string
	// Granted reports whether the program does not send the request, but writes a role that permits it.
	Granted bool
	// Optional reports whether the request may never be sent, so that a marker may grant it but need not.
	Optional bool
	// Names are the object names, if all are constants of the program.
	Names []string
	// Namespace is the namespace of the objects if it is a constant, or [PodNamespace].
	Namespace string
	// Reason explains why the call sends the request, such as "a cached read lists and watches".
	Reason string
	// Unproven is the reason why the resource is not known, or empty. If it is set, Resource.Name is empty or has only the
	// subresource.
	Unproven string
	// Note is a condition under which the request needs a permission, such as an admission plugin, or empty.
	Note string
	Site Site

	untyped bool // the object is unstructured
}

// PodNamespace is the value of [Access].Namespace that represents the namespace in which the program runs.
const PodNamespace = "(namespace of the pod)"

// Site is a call that sends a request.
type Site struct {
	Pos  token.Position // relative to the analyzed directory if the file is in it
	Call string         // such as "client.Writer.Apply"
	// Chain leads from main to the function that contains the call. Each frame calls the function of the next frame, or
	// passes it as a value.
	Chain []Frame
	// Ignored is the reason in a comment //kctrl:ignore rbac: above the call or on its line, or empty.
	Ignored string
}

// Frame is a function of a call chain.
type Frame struct {
	Func string
	Pos  token.Position // of the call of the next function
}

// Result is the result of [Analyze].
type Result struct {
	// Accesses are the requests that the programs can send, ordered by position, resource and verb.
	Accesses []Access
	// Webhooks are the webhooks that the programs serve.
	Webhooks Webhooks
	// UnknownRoles is the reason why a role that the programs write or bind can have unknown permissions, or empty.
	UnknownRoles string
	// Roots are the import paths of the analyzed programs.
	Roots []string
	// Packages are the import paths of the packages of the module that the programs link.
	Packages []string
	// Problems are the parts of the code that were not analyzed.
	Problems []*diagnostic.Error
	// Modules are the directories of other modules below Config.Dir that may send requests, relative to it.
	Modules []string
}

// compare orders accesses by position, resource and verb.
func compare(a, b Access) int {
	return cmp.Or(
		cmp.Compare(a.Site.Pos.Filename, b.Site.Pos.Filename), cmp.Compare(a.Site.Pos.Line, b.Site.Pos.Line),
		cmp.Compare(a.Site.Pos.Column, b.Site.Pos.Column), cmp.Compare(a.Resource.Group, b.Resource.Group),
		cmp.Compare(a.Resource.Name, b.Resource.Name), cmp.Compare(a.Verb, b.Verb),
		slices.Compare(a.Names, b.Names), cmp.Compare(a.Unproven, b.Unproven),
	)
}
