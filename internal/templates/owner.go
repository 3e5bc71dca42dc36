package templates

import (
	"strings"
	"sync"
)

// Owner says whose a file is once it is written. It decides what commands do to the file.
type Owner uint8

const (
	// Shared is for a file that kctrl updates and that users edit: changes of both are merged.
	Shared Owner = iota
	// Generated is for a file that only kctrl writes.
	Generated
	// User is for a file that belongs to the user once it differs from what kctrl wrote.
	User
	// API is for a file that says what the user's API is or follows from it, such as types and samples. kctrl writes it
	// once, and then changes only the names in it.
	API
)

// OwnerOf returns the owner of a file by its source, as [Template.Source] returns it and PROJECT.lock records it.
func OwnerOf(source string) Owner {
	if owner, found := owners()[source]; found {
		return owner
	}
	if strings.HasPrefix(source, "generate/") || strings.HasPrefix(source, "bundle/") {
		return Generated
	}
	return User
}

// owners has the owner of each template of a project by its source.
var owners = sync.OnceValue(func() map[string]Owner {
	all := map[string]Owner{}
	record(all, append(Project(), APIModuleDoc())...)
	record(all, append(append(Modules(), PublishedModules()...), APIModule()...)...)
	record(all, Licenses()["apache2"], Licenses()["none"])
	record(all, Version(), VersionRegister())
	record(all, append(Roles(), Types(), Sample(), StandIn(""), WebhookDoc())...)
	record(all, append(append(Controller(), Operand()...), FurtherController()...)...)
	record(all, CRDKustomization(), SamplesKustomization(), PolicyKustomization())
	record(all, Conversion()...)
	for _, list := range Webhooks() {
		record(all, list...)
	}
	record(all, append(WebhookService(), WebhookConversion(), AllowWebhooks())...)
	record(all, append(append(append(Defaulter(), Validator()...), Policy()...), TestObject())...)
	record(all, Register())
	record(all, Adapter()...)
	return all
})

func record[V any](all map[string]Owner, list ...Template[V]) {
	for _, t := range list {
		all[t.Source()] = t.Owner
	}
}
