// Package plan changes the files of a project. A plan collects the changes, shows them, and writes all of them or none.
//
// Building a [Plan] only reads files. [Plan.Apply] writes the changes with package transaction:
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
// A plan also updates PROJECT.lock, which records the files that kctrl wrote and their templates. kctrl detects edited
// files with it.
//
// # Guarantees
//
//   - A plan changes no file outside the project or in its .git directory, regardless of the content of kinds, plurals
//     and symbolic links.
//   - A failed Apply leaves the tree unchanged, including permissions. Package transaction documents the recovery after
//     a killed process.
//   - A file that changed between the plan and Apply is never overwritten.
//   - An edited file is overwritten only if its [Owner] is Generated, or if Force is set.
//   - A file that kctrl did not write is overwritten only if it has the header of generated Go code, or if Force is
//     set.
//   - A plan with the existing content of all files is empty.
//
// # Concurrency
//
// A Plan is not safe for concurrent use. A process must acquire the project's lock, from package transaction, before it
// reads files for a plan. Without the lock no change is lost, but Apply may fail, because it compares each file again
// before it replaces the file.
package plan
