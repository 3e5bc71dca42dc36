// Package plan changes the files of a project: it collects the changes, shows them, and writes all of them or none.
//
// Making a [Plan] only reads files. [Plan.Apply] writes them with package transaction:
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
// A plan maintains PROJECT.lock, which records the files that kctrl wrote and their templates, to detect edited files.
//
// # Guarantees
//
//   - No path leaves the project or enters its .git directory, whatever a kind, a plural or a symbolic link contains.
//   - A failed Apply leaves the tree unchanged, byte for byte and mode for mode. Package transaction documents recovery
//     after a killed process.
//   - A file that changed between the plan and Apply is never overwritten.
//   - An edited file is overwritten only if its [Owner] is Generated, or by force.
//   - Planning the existing content gives an empty plan.
//
// # Concurrency
//
// A Plan is not safe for concurrent use. Two processes that plan and apply in one project must hold its lock, from
// package transaction, from before they read. Without the lock no change is lost, but an Apply may fail: it compares
// each file again before it replaces it.
package plan
