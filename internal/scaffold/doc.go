// Package scaffold changes the files of a project: it works out what should change, shows it, and writes it.
//
// A [Plan] collects what files should become. Making one only reads; [Plan.Apply] writes all of a plan or nothing of it,
// by package transaction:
//
//	root, closer, err := scaffold.OpenRoot(dir)
//	...
//	defer closer.Close()
//	plan := scaffold.NewPlan(afero.NewIOFS(root))
//	err = plan.WriteFile(scaffold.File{Path: "api/v1/zz_generated.deepcopy.go", Content: code, Policy: scaffold.Own})
//	...
//	fmt.Fprint(out, plan.Diff())
//	err = plan.Apply(ctx, root, "kctrl generate")
//
// [Project] is the PROJECT file. [Lock] is PROJECT.lock: what kctrl wrote and from which template, so that a [Policy] can
// tell a file that the user has edited. Files that belong to the user are changed by package edit.
//
// # Guarantees
//
//   - No path leaves the project or enters its .git folder, whatever a kind, a plural or a symbolic link says.
//   - A failed Apply leaves the tree as it was, byte for byte and mode for mode; see package transaction for one that was
//     killed.
//   - A file that changed between the plan and Apply is never overwritten.
//   - A file that the user has edited is overwritten only under the policy [Own].
//   - Planning what is already there gives an empty plan.
//
// # Concurrency
//
// A Plan and a Project belong to one goroutine. Two processes that plan and apply in one project hold its lock, from
// package transaction, from before they read. Without it nothing is lost, but one may fail: each file is compared again
// when it is replaced.
package scaffold
