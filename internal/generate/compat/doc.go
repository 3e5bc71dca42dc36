// Package compat runs the command lines of controller-gen v0.23.0, on any Go module.
//
// [Parse] reads the arguments as controller-gen does. [Command.Run] generates in memory. [Result.Write] writes the
// files to the places that the output rules define, all or none of them.
//
//	command, err := compat.Parse([]string{"object", "crd:maxDescLen=0", "paths=./...", "output:crd:dir=crds"})
//	...
//	result, err := command.Run(ctx, compat.Options{Dir: dir})
//	...
//	err = result.Write(ctx, dir)
//
// The packages are loaded once, and only packages that can produce output are type-checked. If the loader of kctrl
// cannot handle the paths or build tags, or reports an error, the loader of controller-tools decides. So every input of
// controller-gen works here. The output is the same in every run. Errors have a position and a hint.
package compat
