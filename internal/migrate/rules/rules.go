// Package rules has the rules that rewrite Go code from controller-runtime's API to kctrl's.
//
// A rule exists only for code where type information proves that the behavior stays the same. Rules replace an alias
// that the module in third_party declares with its target, a function with one that has the same behavior and accepts
// all arguments, and an interface with one that has the same methods.
package rules

import "github.com/kctrl-dev/kctrl/internal/migrate/rewrite"

// All are the groups of rules, in the order in which they are applied to packages.
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
