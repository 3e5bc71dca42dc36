package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// choice is a flag of a create command that affects generated files. PROJECT records its value, so that kctrl can later
// derive what it wrote.
type choice struct {
	name string // with leading dashes
	// value is a *string, a *[]string, a *bool, an *int or a *time.Duration. The zero value means unset.
	value any
}

// KindOptions are the flags of create api that PROJECT records.
type KindOptions struct {
	Shape   Shape
	Operand *Operand
}

// choices returns the flags of create api that PROJECT records.
func (o *KindOptions) choices() []choice {
	s := &o.Shape
	return []choice{
		{"--field", &s.Fields}, {"--status-field", &s.StatusFields}, {"--short-name", &s.ShortNames},
		{"--category", &s.Categories},
		{"--print-column", &s.Columns}, {"--scale", &s.Scale},
	}
}

// fromDeployment is the flag for an [Operand] in PROJECT. The flags of the operand follow it.
const fromDeployment = "--from=deployment"

func (o *Operand) choices() []choice {
	return []choice{{"--image", &o.Image}, {"--port", &o.Port}, {"--finalizer", &o.Finalizer}}
}

// choices returns the flags of create webhook that PROJECT records for each webhook and policy.
func (r *Requests) choices() []choice {
	return []choice{
		{"--verbs", &r.Verbs}, {"--failure-policy", &r.FailurePolicy}, {"--timeout", &r.Timeout},
		{"--namespace-selector", &r.NamespaceSelector},
		{"--object-selector", &r.ObjectSelector}, {"--match-condition", &r.MatchConditions},
	}
}

// Flags returns the flags that PROJECT records for a kind.
func (o KindOptions) Flags() []string {
	flags := flagsOf(o.choices())
	if o.Operand != nil {
		flags = slices.Concat([]string{fromDeployment}, flagsOf(o.Operand.choices()), flags)
	}
	return flags
}

// setFlags sets o from the flags that PROJECT records for a kind.
func (o *KindOptions) setFlags(flags []string) error {
	choices := o.choices()
	if slices.Contains(flags, fromDeployment) {
		o.Operand = &Operand{}
		choices = append(choices, o.Operand.choices()...)
		flags = slices.DeleteFunc(slices.Clone(flags), func(flag string) bool { return flag == fromDeployment })
	}
	return setChoices(choices, flags)
}

// WithoutOperand returns the flags of a kind after the deletion of its controller with an operand. The types keep the
// fields for the operand.
func WithoutOperand(flags []string) []string {
	opts := KindOptions{}
	if !slices.Contains(flags, fromDeployment) || opts.setFlags(flags) != nil {
		return flags
	}
	opts.Shape, opts.Operand = opts.Operand.shape(opts.Shape), nil
	return opts.Flags()
}

// AdmissionOptions are the flags of create webhook that PROJECT records.
type AdmissionOptions struct {
	DefaultingPath, ValidationPath string
	Rules                          []string
	Requests                       Requests
}

// Flags returns the flags that PROJECT records for a webhook or a policy.
func (o AdmissionOptions) Flags(a layout.Admission) []string {
	requests := o.Requests
	if a.Suffix == "" {
		requests.Timeout = 0
	}
	return flagsOf(append(requests.choices(), o.own(a)...))
}

// SetFlags sets o from the flags that PROJECT records for a webhook or a policy.
func (o *AdmissionOptions) SetFlags(a layout.Admission, flags []string) error {
	return setChoices(append(o.Requests.choices(), o.own(a)...), flags)
}

// own returns the flags that only one kind of admission has: the path for a webhook, or the rules for a policy.
func (o *AdmissionOptions) own(a layout.Admission) []choice {
	switch a.Suffix {
	case layout.Defaulting.Suffix:
		return []choice{{"--defaulting-path", &o.DefaultingPath}}
	case layout.Validation.Suffix:
		return []choice{{"--validation-path", &o.ValidationPath}}
	case layout.Policy.Suffix:
		return []choice{{"--rule", &o.Rules}}
	}
	return nil
}

// flagsOf returns the set choices as command-line flags.
func flagsOf(choices []choice) []string {
	var flags []string
	for _, c := range choices {
		switch value := c.value.(type) {
		case *string:
			if *value != "" {
				flags = append(flags, c.name+"="+*value)
			}
		case *[]string:
			for _, one := range *value {
				flags = append(flags, c.name+"="+one)
			}
		case *bool:
			if *value {
				flags = append(flags, c.name)
			}
		case *int:
			if *value != 0 {
				flags = append(flags, c.name+"="+strconv.Itoa(*value))
			}
		case *time.Duration:
			if *value != 0 {
				flags = append(flags, c.name+"="+value.String())
			}
		}
	}
	return flags
}

// setChoices sets choices from flags. It rejects flags that this kctrl does not know.
func setChoices(choices []choice, flags []string) error {
	for _, flag := range flags {
		name, text, _ := strings.Cut(flag, "=")
		at := slices.IndexFunc(choices, func(c choice) bool { return c.name == name })
		if at < 0 {
			return &diagnostic.Error{
				Message: fmt.Sprintf("%s keeps the flag %s, which this kctrl does not have", project.File, diagnostic.Quote(name)),
				Hint:    "use the kctrl that wrote it, or remove the flag: files that depend on it then count as edited",
			}
		}
		var err error
		switch value := choices[at].value.(type) {
		case *string:
			*value = text
		case *[]string:
			*value = append(*value, text)
		case *bool:
			*value = true
		case *int:
			*value, err = strconv.Atoi(text)
		case *time.Duration:
			*value, err = time.ParseDuration(text)
		}
		if err != nil {
			return WrongOption(name, text, "want a value that "+name+" accepts", "write it as it is typed")
		}
	}
	return nil
}

// At returns the view of a webhook with the requested URL path.
func (o AdmissionOptions) At(a layout.Admission, view templates.AdmissionView) templates.AdmissionView {
	switch {
	case a.Suffix == layout.Defaulting.Suffix && o.DefaultingPath != "":
		view.MutatePath, view.OwnPath = o.DefaultingPath, true
	case a.Suffix == layout.Validation.Suffix && o.ValidationPath != "":
		view.ValidatePath, view.OwnPath = o.ValidationPath, true
	}
	return view
}
