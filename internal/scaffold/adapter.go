package scaffold

import (
	"path"

	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// AdapterFeatures are what the version of controller-runtime declares that libraries of a project speak.
type AdapterFeatures = templates.AdapterFeatures

// The parts of the package that converts values of controller-runtime and of the runtime: clients with their options,
// predicates, handlers of events, what reconcilers are, are told and return, how long what failed waits, managers,
// and how metrics are served.
const (
	AdapterClient    = "client.go"
	AdapterPredicate = "predicate.go"
	AdapterHandler   = "handler.go"
	AdapterSource    = "source.go"
	AdapterReconcile = "reconcile.go"
	AdapterLimiter   = "ratelimiter.go"
	AdapterManager   = "manager.go"
	AdapterMetrics   = "metrics.go"
)

// adapterParts are the files that each part is.
var adapterParts = map[string][]string{
	AdapterClient:    {AdapterClient, "options.go"},
	AdapterPredicate: {AdapterPredicate},
	AdapterHandler:   {AdapterHandler, AdapterReconcile},
	AdapterSource:    {AdapterSource, AdapterHandler, AdapterReconcile},
	AdapterReconcile: {AdapterReconcile},
	AdapterLimiter:   {AdapterLimiter, AdapterReconcile},
	AdapterMetrics:   {AdapterMetrics},
	AdapterManager:   {AdapterManager, AdapterClient, "options.go"},
}

// PlanAdapter plans the package in a folder of a migrated project that stands between it and libraries which speak
// controller-runtime, with the parts that are needed. It is the user's from then on.
func PlanAdapter(p *plan.Plan, folder string, features AdapterFeatures, parts map[string]bool) error {
	header, err := templated.GoHeader(p)
	if err != nil {
		return err
	}
	view := templates.AdapterView{Header: header, Folder: folder, Package: path.Base(folder), AdapterFeatures: features}
	wanted := map[string]bool{path.Join(folder, "controllerruntime.go"): true}
	for part, needed := range parts {
		for _, name := range adapterParts[part] {
			wanted[path.Join(folder, name)] = wanted[path.Join(folder, name)] || needed
		}
	}
	for _, t := range templates.Adapter() {
		if !wanted[t.Path(view)] {
			continue
		}
		text, err := t.Render(view)
		if err != nil {
			return err
		}
		if err := p.Edit(t.Path(view), text); err != nil {
			return err
		}
	}
	return nil
}
