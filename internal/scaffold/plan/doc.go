// Package plan changes the files of a project: what should change is collected, shown, and written as a whole.
//
// Making a [Plan] only reads; [Plan.Apply] writes all of it or nothing, by package transaction:
//
//	root, err := transaction.Open(dir)
//	...
//	defer root.Close()
//	p := plan.New(afero.NewIOFS(root))
//	err = p.WriteFile(plan.File{Path: "api/v1/zz_generated.deepcopy.go", Content: code, Owner: plan.Generated})
//	...
//	fmt.Fprint(out, p.Diff())
//	err = p.Apply(ctx, root, "kctrl generate")
//
// A plan keeps PROJECT.lock, what kctrl wrote and from which template, so that edited files are found.
//
// # Guarantees
//
//   - No path leaves the project or enters its .git folder, whatever a kind, a plural or a symbolic link says.
//   - A failed Apply leaves the tree as it was, byte for byte and mode for mode; see package transaction for one that was
//     killed.
//   - A file that changed between the plan and Apply is never overwritten.
//   - An edited file is overwritten only if its [Owner] is Generated, or by force.
//   - Planning what is already there gives an empty plan.
//
// # Concurrency
//
// A Plan belongs to one goroutine. Two processes that plan and apply in one project hold its lock, from package transaction,
// from before they read. Without it nothing is lost, but one may fail: each file is compared again when it is replaced.
package plan
