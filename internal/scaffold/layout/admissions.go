package layout

import (
	"slices"

	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// Admission is what can decide about the objects of a kind.
type Admission struct {
	// File is what its files are named after, suffix what its Go type ends in. A policy has none: API servers decide by
	// themselves.
	File, Suffix string
	// Flag is what create and delete call it, has and flags are what PROJECT says of it.
	Flag      string
	Has       func(*project.Resource) *bool
	Flags     func(*project.Resource) *[]string
	Templates func() []templates.Template[templates.AdmissionView]
}

var (
	Defaulting = Admission{
		"defaulter", "Defaulter", "--defaulting", func(r *project.Resource) *bool { return &r.Defaulting },
		func(r *project.Resource) *[]string { return &r.DefaultingFlags }, templates.Defaulter,
	}
	Validation = Admission{
		"validator", "Validator", "--validation", func(r *project.Resource) *bool { return &r.Validation },
		func(r *project.Resource) *[]string { return &r.ValidationFlags }, templates.Validator,
	}
	Policy = Admission{
		"policy", "", "--policy", func(r *project.Resource) *bool { return &r.Policy },
		func(r *project.Resource) *[]string { return &r.PolicyFlags }, templates.Policy,
	}
)

// AdmissionsOf returns what decides about the objects of a kind.
func AdmissionsOf(r project.Resource) []Admission {
	return slices.DeleteFunc([]Admission{Defaulting, Validation, Policy}, func(a Admission) bool { return !*a.Has(&r) })
}

// WebhooksOf returns the webhooks that a kind has.
func WebhooksOf(r project.Resource) []Admission {
	return slices.DeleteFunc(AdmissionsOf(r), func(a Admission) bool { return a.Suffix == "" })
}
