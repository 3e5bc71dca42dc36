package generators

import (
	"slices"

	"github.com/kctrl-dev/kctrl/internal/generate/generator"
)

// Add adds a generator to all commands until undo is called. Parallel tests must not use it.
func Add(g generator.Generator) (undo func()) {
	before := all
	all = append(slices.Clone(all), g)
	return func() { all = before }
}
