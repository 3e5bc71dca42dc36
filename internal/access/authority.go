package access

import (
	"strings"

	"golang.org/x/tools/go/ssa"
)

// DefaultSecret is the default name of the Secret in which kctrl's manager stores the certificate of its webhooks.
const DefaultSecret = "webhook-certificates"

const reasonAuthority = "the manager keeps the certificate of its webhooks in a Secret, and sets its CA"

// targetResources are the resources of the targets of a certificate authority, by the first part of the target's name.
var targetResources = map[string]Resource{
	"mutating":   {"admissionregistration.k8s.io", "mutatingwebhookconfigurations"},
	"validating": {"admissionregistration.k8s.io", "validatingwebhookconfigurations"},
	"crd":        {"apiextensions.k8s.io", "customresourcedefinitions"},
	"apiservice": {"apiregistration.k8s.io", "apiservices"},
	"provider":   {"externaldata.gatekeeper.sh", "providers"},
}

// Authority returns the requests of the certificate authority of kctrl's manager, which stores its certificate in a
// Secret, and sets its CA in targets such as "mutating/NAME". It skips unknown targets. If secret is empty, the
// requests for the Secret have no object name.
func Authority(targets []string, secret string, site Site) (all []Access) {
	if len(targets) == 0 {
		return nil
	}
	add := func(a Access, verbs ...string) {
		a.Reason, a.Site = reasonAuthority, site
		for _, verb := range verbs {
			a.Verb = verb
			all = append(all, a)
		}
	}
	kept := Access{Resource: Resource{"", "secrets"}, Scope: ScopeNamespaced, Namespace: PodNamespace}
	add(kept, Create)
	if secret != "" {
		kept.Names = []string{secret}
	}
	add(kept, Get, List, Watch, Update)
	for _, target := range targets {
		short, name, _ := strings.Cut(target, "/")
		if resource, ok := targetResources[short]; ok {
			add(Access{Resource: resource, Scope: ScopeCluster, Names: []string{name}}, Get, List, Watch, Patch)
		}
	}
	return all
}

// targets records the requests of the certificate authority for the targets that a program sets in its options.
func (s *site) targets(options *ssa.FieldAddr, targets ssa.Value) {
	if c, ok := targets.(*ssa.Const); ok && c.Value == nil {
		return
	}
	names, complete := s.constants(place{targets, element}, true)
	if !complete || len(names) == 0 {
		s.add([]Access{unproven("the targets of the webhooks' certificate authority are not constants", "")},
			reasonAuthority, Get, List, Watch, Patch)
	}
	secret := DefaultSecret
	for _, value := range s.stores[fieldOf{fieldAt(options).structure, "Secret"}] {
		secret = s.constant(place{value, ""})
	}
	for _, a := range Authority(names, secret, s.site()) {
		s.keep(a)
	}
}
