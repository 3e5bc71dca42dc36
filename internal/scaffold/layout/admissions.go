package layout

import (
	"slices"

	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// Admission is a mechanism that accepts or rejects objects of a kind, or changes them: a webhook or a policy.
type Admission struct {
	// File is the base name of the admission's files, and Suffix the suffix of its Go type. A policy has no
	// suffix, because API servers evaluate it themselves.
	File, Suffix string
	// Flag is the flag of create and delete commands that selects the admission. Has and Flags return pointers
	// to the fields that record the admission in PROJECT.
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

// AdmissionsOf returns the admissions of a kind.
func AdmissionsOf(r project.Resource) []Admission {
	return slices.DeleteFunc([]Admission{Defaulting, Validation, Policy}, func(a Admission) bool { return !*a.Has(&r) })
}

// WebhooksOf returns the webhooks of a kind.
func WebhooksOf(r project.Resource) []Admission {
	return slices.DeleteFunc(AdmissionsOf(r), func(a Admission) bool { return a.Suffix == "" })
}
