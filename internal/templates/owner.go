package templates

import (
	"slices"
	"strings"
	"sync"

	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

// OwnerOf returns the owner of a file, given the source that PROJECT.lock records for it.
func OwnerOf(source string) plan.Owner {
	if owner, found := owners()[source]; found {
		return owner
	}
	if strings.HasPrefix(source, "generate/") || strings.HasPrefix(source, "bundle/") {
		return plan.Generated
	}
	return plan.User
}

// owners returns the owner of each template by its source.
var owners = sync.OnceValue(func() map[string]plan.Owner {
	all := map[string]plan.Owner{}
	record(all, append(Project(), APIModuleDoc())...)
	record(all, slices.Concat(Modules(), DropInModule(), PublishedModules(), APIModule())...)
	record(all, Licenses()["apache2"], Licenses()["none"])
	record(all, Version(), VersionRegister())
	record(all, append(Roles(), Types(), Sample(), StandIn(""), WebhookDoc())...)
	record(all, append(append(Controller(), Operand()...), FurtherController()...)...)
	record(all, CRDKustomization(), SamplesKustomization(), PolicyKustomization())
	record(all, Conversion()...)
	for _, list := range Webhooks() {
		record(all, list...)
	}
	record(all, append(WebhookService(), WebhookConversion(), WebhookReferences(), AllowWebhooks())...)
	record(all, append(append(append(Defaulter(), Validator()...), Policy()...), TestObject())...)
	record(all, Register())
	return all
})

func record[V any](all map[string]plan.Owner, list ...Template[V]) {
	for _, t := range list {
		all[t.Source()] = t.Owner
	}
}
