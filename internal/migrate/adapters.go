package migrate

import (
	"go/types"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
	"golang.org/x/tools/go/packages"

	"github.com/kctrl-dev/kctrl/internal/scaffold"
)

// The package that converts what libraries want and give: it is made for what the project's controller-runtime declares, which is raised where it
// would not compile.

// peerObject returns what a package of controller-runtime declares, or nil.
func (p *program) peerObject(pkg, name string) types.Object {
	declared := p.peers[pkg]
	if declared == nil {
		return nil
	}
	return declared.Scope().Lookup(name)
}

// surveyPeers finds the packages of controller-runtime that the project is made of. What the package that converts needs of these is there
// from version 0.14 on.
func (p *program) surveyPeers() {
	packages.Visit(p.packages, nil, func(pkg *packages.Package) {
		if pkg.Types != nil && strings.HasPrefix(pkg.PkgPath, peerModule+"/pkg/") {
			p.peers[strings.TrimPrefix(pkg.PkgPath, peerModule+"/pkg/")] = pkg.Types
		}
	})
	p.converts = p.peerObject("client", "SubResourceClient") != nil
	cluster := p.peerObject("cluster", "Cluster")
	if cluster == nil {
		return
	}
	_, p.convertsManagers = methodOf(cluster.Type(), "GetHTTPClient")
}

// peerField reports whether a struct of controller-runtime has a field.
func (p *program) peerField(pkg, name, field string) bool {
	object := p.peerObject(pkg, name)
	if object == nil {
		return false
	}
	found, _, _ := types.LookupFieldOrMethod(object.Type(), true, nil, field)
	_, ok := found.(*types.Var)
	return ok
}

// The controller-runtime that is released with the Kubernetes of the runtime's modules, and the oldest one whose caches compile with these.
const (
	peerRelease          = "v0.25.2"
	oldestCompilingCache = "v0.24.0"
)

// raisesPeer reports whether libraries have caches of a controller-runtime that does not compile with the Kubernetes of the runtime.
func (p *program) raisesPeer(version string) bool {
	if version == "" || semver.Compare(version, oldestCompilingCache) >= 0 {
		return false
	}
	found := false
	seen := map[string]bool{}
	var visit func(pkg *packages.Package)
	visit = func(pkg *packages.Package) {
		if seen[pkg.PkgPath] || p.isOwn(pkg.PkgPath) {
			return
		}
		seen[pkg.PkgPath] = true
		found = found || pkg.PkgPath == peerModule+"/pkg/cache"
		for _, imported := range pkg.Imports {
			visit(imported)
		}
	}
	for _, pkg := range p.packages {
		for _, imported := range pkg.Imports {
			if !isPeer(imported.PkgPath) {
				visit(imported)
			}
		}
	}
	return found
}

// raisePeer raises the controller-runtime that libraries speak, in the go.mod of a module in the copy.
func (m *migration) raisePeer(scratch, module string) error {
	if !m.raisesPeer {
		return nil
	}
	return editModule(filepath.Join(scratch, filepath.FromSlash(module)), func(file *modfile.File) (bool, error) {
		for _, r := range file.Require {
			if r.Mod.Path != peerModule || semver.Compare(r.Mod.Version, peerRelease) >= 0 {
				continue
			}
			m.report.Left = append(m.report.Left, Left{
				File: path.Join(module, "go.mod"), Code: peerModule + " " + r.Mod.Version, Rewritten: true,
				Reason: "libraries have caches of " + peerModule + ", which compile with the Kubernetes of the runtime from " + oldestCompilingCache + " on: raised to " + peerRelease,
			})
			err := file.AddRequire(peerModule, peerRelease)
			for _, pinned := range slices.Clone(file.Replace) {
				if pinned.Old.Path == peerModule && pinned.New.Path == peerModule && err == nil {
					err = file.AddReplace(peerModule, pinned.Old.Version, peerModule, peerRelease)
				}
			}
			return true, err
		}
		return false, nil
	})
}

// allFeatures are those of peerRelease.
var allFeatures = scaffold.AdapterFeatures{
	Apply: true, SubResourceApply: true, FieldValidation: true, SharedGet: true, StaleRead: true, InitialList: true, Priority: true, TerminalError: true,
	EventRecorder: true, AnnotatedRecorder: true,
}

// libraryFeatures are what the version of controller-runtime that the project has declares.
func (p *program) libraryFeatures() scaffold.AdapterFeatures {
	recordsEvents := false
	if provider := p.peerObject("recorder", "Provider"); provider != nil {
		_, recordsEvents = methodOf(provider.Type(), "GetEventRecorder")
	}
	return scaffold.AdapterFeatures{
		Apply:             p.peerObject("client", "ApplyOption") != nil,
		SubResourceApply:  p.peerObject("client", "SubResourceApplyOption") != nil,
		FieldValidation:   p.peerField("client", "CreateOptions", "FieldValidation"),
		SharedGet:         p.peerField("client", "GetOptions", "UnsafeDisableDeepCopy"),
		StaleRead:         p.peerField("client", "GetOptions", "DisableReadYourWritesConsistency"),
		InitialList:       p.peerField("event", "CreateEvent", "IsInInitialList"),
		Priority:          p.peerField("reconcile", "Result", "Priority"),
		TerminalError:     p.peerObject("reconcile", "TerminalError") != nil,
		EventRecorder:     recordsEvents,
		AnnotatedRecorder: p.peerObject("recorder", "EventRecorder") != nil,
	}
}

// adapterFolders are the names that the folder of the package that converts may have, the first one where it is free.
var adapterFolders = []string{"controllerruntime", "controllerruntimeadapter", "kctrlcontrollerruntime"}

// adapterFolder returns the folder of the package that converts: one that the project does not have yet.
func adapterFolder(fsys fs.FS, modules []goModule) string {
	for _, name := range adapterFolders {
		folder := path.Join("internal", name)
		if !slices.ContainsFunc(modules, func(m goModule) bool {
			_, err := fs.Stat(fsys, path.Join(m.folder, folder))
			return err == nil
		}) {
			return folder
		}
	}
	return "internal/kctrl/controllerruntime"
}

// writeAdapters plans the packages that convert, for the modules that need one.
func (m *migration) writeAdapters(p *program) error {
	features := p.libraryFeatures()
	if m.raisesPeer = p.raisesPeer(m.peer.runtime); m.raisesPeer {
		features = allFeatures
	}
	for _, module := range m.modules {
		parts := p.adapters[module.folder]
		if len(parts) == 0 {
			continue
		}
		folder := path.Join(module.folder, p.adapterFolder)
		if err := scaffold.PlanAdapter(m.plan, folder, features, parts); err != nil {
			return err
		}
		if m.adapted == nil {
			m.adapted = map[string]bool{}
		}
		m.adapted[folder] = true
		m.report.Left = append(m.report.Left, Left{
			File: path.Join(folder, "controllerruntime.go"), Reason: "libraries go on to speak " + peerModule + ", and this package converts what they want and give", Rewritten: true,
		})
	}
	return nil
}
