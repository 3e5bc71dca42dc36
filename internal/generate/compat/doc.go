// Package compat runs controller-gen v0.23.0 command lines in any Go module.
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
// The packages are loaded once, and only packages that can produce output are type-checked. If kctrl's loader cannot
// handle the paths or build tags, or reports an error, controller-tools' loader decides, so every input that
// controller-gen accepts works here. The output is the same in every run. Errors have a position and a hint.
package compat
