package scaffold

import (
	"slices"

	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// admission is what can decide about the objects of a kind.
type admission struct {
	// file is what its files are named after, suffix what its Go type ends in. A policy has none: API servers decide by themselves.
	file, suffix string
	// flag is what create and delete call it, has and flags are what PROJECT says of it.
	flag      string
	has       func(*project.Resource) *bool
	flags     func(*project.Resource) *[]string
	templates func() []templates.Template[templates.AdmissionView]
}

var (
	defaulting = admission{
		"defaulter", "Defaulter", "--defaulting", func(r *project.Resource) *bool { return &r.Defaulting },
		func(r *project.Resource) *[]string { return &r.DefaultingFlags }, templates.Defaulter,
	}
	validation = admission{
		"validator", "Validator", "--validation", func(r *project.Resource) *bool { return &r.Validation },
		func(r *project.Resource) *[]string { return &r.ValidationFlags }, templates.Validator,
	}
	policy = admission{
		"policy", "", "--policy", func(r *project.Resource) *bool { return &r.Policy },
		func(r *project.Resource) *[]string { return &r.PolicyFlags }, templates.Policy,
	}
)

// admissionsOf returns what decides about the objects of a kind.
func admissionsOf(r project.Resource) []admission {
	return slices.DeleteFunc([]admission{defaulting, validation, policy}, func(a admission) bool { return !*a.has(&r) })
}

// webhooksOf returns the webhooks that a kind has.
func webhooksOf(r project.Resource) []admission {
	return slices.DeleteFunc(admissionsOf(r), func(a admission) bool { return a.suffix == "" })
}
