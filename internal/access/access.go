package access

import (
	"cmp"
	"go/token"
	"slices"
	"strings"
)

// Verbs of requests.
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

// Scope is the part of a cluster in which the objects of a kind are.
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
	Name  string // plural, with "/" and the subresource if there is one; empty if the resource is unknown
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
	// Guessed means that neither markers nor a table have the plural of the kind: it is upstream's guess from the name.
	Guessed bool
	// Choice means that the call is in a library, which chooses one of several kinds by its options.
	Choice bool
	// Names are the names of the objects, if all are constants of the program.
	Names []string
	// Namespace is the namespace of the objects if it is a constant, or [PodNamespace].
	Namespace string
	// Reason is the rule from which the access follows, such as "a cached read lists and watches".
	Reason string
	// Unproven states why the resource is not known. Then Resource.Name is empty, or only the subresource is known.
	Unproven string
	// Note is a condition under which the request needs a permission, such as an admission plugin. May be empty.
	Note string
	Site Site
}

// PodNamespace is the value of [Access].Namespace for the namespace in which the program runs.
const PodNamespace = "(namespace of the pod)"

// Site is a call that sends a request.
type Site struct {
	Pos  token.Position // relative to the analyzed directory if the file is in it
	Call string         // such as "client.Writer.Apply"
	// Chain leads from main to the function that has the call: each frame calls the next one, or passes it on.
	Chain []Frame
	// Ignored is the reason of a comment //kctrl:ignore rbac: above the call or at its end.
	Ignored string
}

// Frame is a function of a call chain.
type Frame struct {
	Func string
	Pos  token.Position // of the call of the next function
}

// Result is what [Analyze] found.
type Result struct {
	// Accesses are ordered by position, verb and resource.
	Accesses []Access
	// Roots are the import paths of the programs that were followed.
	Roots []string
	// Packages are the import paths of the packages of the module that the programs link.
	Packages []string
	// Problems are the parts of the code that were not analyzed, each a *diagnostic.Error.
	Problems []error
	// Modules are the directories of other modules below that may send requests, relative to the directory.
	Modules []string
	// Functions is the number of functions that the programs reach.
	Functions int
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
