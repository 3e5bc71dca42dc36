// Package access derives the requests that a Go program sends to an API server from its types and its call graph.
//
// [Analyze] loads the packages of a module, follows the calls from main, and returns an [Access] for each request that
// a reached call can send: verb, resource, call site and chain of calls. It understands kctrl's runtime,
// controller-runtime and the clients of client-go.
//
//	result, err := access.Analyze(ctx, access.Config{Dir: dir})
//	for _, a := range result.Accesses {
//		fmt.Println(a.Site.Pos, a.Verb, a.Resource)
//	}
//
// The analysis follows values backward from the argument of a call to the places where they are made, through
// parameters, results, fields, slices and closures. An access whose kind it cannot find has no resource, and has the
// reason.
//
// The package does not know RBAC: package rbac compares accesses with what a role grants.
package access
