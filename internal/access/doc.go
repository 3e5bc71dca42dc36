// Package access derives the requests that a Go program sends to an API server, and the webhooks that it serves, from
// the program's types and call graph.
//
// [Analyze] loads the packages of a module, follows the calls from main, and returns an [Access] for each request that
// a reached call can send, with verb, resource, call site and call chain. It recognizes kctrl's runtime,
// controller-runtime and client-go's clients.
//
//	result, err := access.Analyze(ctx, access.Config{Dir: dir})
//	for _, a := range result.Accesses {
//		fmt.Println(a.Site.Pos, a.Verb, a.Resource)
//	}
//
// The analysis follows values backward from the argument of a call to the places that create them, through parameters,
// results, fields, slices and closures. If it cannot find the kind of an access, the access has no resource, and
// [Access].Unproven has the reason.
//
// The package does not depend on RBAC. Package rbac compares accesses with the permissions of roles.
package access
