// Package rules has the rules that rewrite Go code from controller-runtime's API to kctrl's.
//
// A rule is added only if types prove that the meaning stays: a name of the module in third_party that is an alias is
// replaced by its target, a function by one with the same behavior whose parameters accept all arguments, and an
// interface by one with the same methods.
package rules

import "github.com/kctrl-dev/kctrl/internal/migrate/rewrite"

// All are the groups of rules, in the order in which packages get them.
var All = []rewrite.Group{
	{Name: "names", Rules: []rewrite.Rule{rewrite.On(alias), rewrite.On(call), rewrite.On(constant)}},
	{Name: "interfaces", Rules: []rewrite.Rule{rewrite.On(reconciler)}},
	{Name: "logs", Rules: []rewrite.Rule{rewrite.On(logs)}},
	{
		Name:       "clients",
		Rules:      []rewrite.Rule{rewrite.On(clientType), rewrite.On(clientValue), rewrite.On(newClient)},
		Converters: clientConverters,
	},
}
