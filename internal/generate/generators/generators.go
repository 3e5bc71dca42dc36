// Package generators is the list of all generators.
package generators

import (
	"slices"

	"github.com/kctrl-dev/kctrl/internal/generate/applyconfig"
	"github.com/kctrl-dev/kctrl/internal/generate/crd"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/generate/object"
	"github.com/kctrl-dev/kctrl/internal/generate/rbac"
	"github.com/kctrl-dev/kctrl/internal/generate/schemapatch"
	"github.com/kctrl-dev/kctrl/internal/generate/webhook"
)

// all are the generators of all commands, in the order in which they run in a project. To add a generator, write a
// package and add a line here.
var all = []generator.Generator{
	object.Generator,
	applyconfig.Generator,
	crd.Generator,
	rbac.Generator,
	webhook.Generator,
	schemapatch.Generator,
}

// All returns all generators, in the order in which they run in a project.
func All() []generator.Generator { return slices.Clone(all) }
