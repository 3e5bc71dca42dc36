// Package compat runs the command lines of controller-gen v0.23.0, on any Go module.
//
// [Parse] understands the arguments as controller-gen does. [Command.Run] generates in memory, and [Result.Write] puts the
// files where the output rules say, all or none of them.
//
//	command, err := compat.Parse([]string{"object", "crd:maxDescLen=0", "paths=./...", "output:crd:dir=crds"})
//	...
//	result, err := command.Run(ctx, compat.Options{Dir: dir})
//	...
//	err = result.Write(ctx, dir)
//
// The packages are loaded once, and only those that can produce output with their types. Where that does not work, be it
// because the paths or build tags ask for more than the loader of kctrl knows or because something is wrong, the loader of
// controller-tools has the last word: what controller-gen can do works here. Its answer is the same in every run, and what
// is wrong is reported with the position and what to do about it.
package compat
