package generate

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"

	"sigs.k8s.io/controller-tools/pkg/genall"

	"github.com/kctrl-dev/kctrl/internal/generate/applyconfig"
	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/generate/crd"
	"github.com/kctrl-dev/kctrl/internal/generate/object"
	"github.com/kctrl-dev/kctrl/internal/generate/rbac"
	"github.com/kctrl-dev/kctrl/internal/generate/webhook"
	"github.com/kctrl-dev/kctrl/internal/load"
)

// Generator makes one kind of files in a project. All commands range over [Generators]: another one is a package that
// makes the files, and a row in their list.
type Generator struct {
	// Name is what Options and PROJECT.lock call it.
	Name string
	// Code says that it makes Go, for kctrl generate. The others make manifests, for kctrl manifests.
	Code bool
	// Follows says that its files follow from the kinds and controllers that kctrl create api adds.
	Follows bool
	// Flags returns the flags of its own, which set options. Nil means there are none.
	Flags func(*Options) []Flag

	// emits reports whether it may have to know the types of a package. Nil means that it reads markers alone.
	emits func(*load.Package) bool
	// generate makes the files, with paths relative to the project.
	generate func(*generation, genall.GenerationContext) ([]artifact.File, error)
	// folder is where the files are written, relative to the project. Nil means beside the types.
	folder func(Options) string
	// kustomization is the folder whose kustomization lists files in the usual one. Empty means that none does.
	kustomization, usual string
	// leave deals with what the project has of a generator that has nothing to make. Nil means that what it made earlier
	// and makes no more is deleted.
	leave func(g *generation, made map[string]bool) error
}

// Flag is a flag of a command for an option of a generator.
type Flag struct {
	Name, Usage string
	// To is the option: a *string, which Default is the value of, a *bool, a *map[string]string, or a **int or **bool, which
	// stay nil unless they are set; a negative number stands for nil.
	To      any
	Default string
}

// The names of the generators that others refer to.
const (
	Object = "object"
	CRD    = "crd"
	RBAC   = "rbac"
)

// all are the generators, in the order in which they run.
var all = []Generator{
	{Name: Object, Code: true, Follows: true, emits: object.Emits, generate: (*generation).object},
	{Name: "applyconfig", Code: true, Follows: true, emits: applyconfig.Emits, generate: (*generation).applyConfigurations, Flags: applyFlags},
	{
		Name: CRD, Follows: true, emits: crd.Emits, generate: (*generation).crds, Flags: crdFlags,
		folder: Options.crdFolder, kustomization: "config/crd", usual: crd.Folder,
	},
	{Name: RBAC, Follows: true, generate: (*generation).role, Flags: rbacFlags, folder: Options.rbacFolder, leave: (*generation).emptyRole},
	{
		Name: "webhook", generate: (*generation).webhooks, Flags: webhookFlags,
		folder: Options.webhookFolder, kustomization: "config/webhook", usual: webhook.Folder,
	},
}

// Generators returns all generators, in the order in which they run.
func Generators() []Generator { return slices.Clone(all) }

// Named returns the names of the generators that are wanted.
func Named(wanted func(Generator) bool) []string {
	var names []string
	for _, g := range all {
		if wanted(g) {
			names = append(names, g.Name)
		}
	}
	return names
}

// generators returns those that the options name.
func (o Options) generators() []Generator {
	return slices.DeleteFunc(Generators(), func(g Generator) bool { return !slices.Contains(o.Generators, g.Name) })
}

// template is what PROJECT.lock calls the files of a generator.
func (g Generator) template() string { return "generate/" + g.Name }

func (g *generation) object(types genall.GenerationContext) ([]artifact.File, error) {
	header, err := g.codeHeader()
	if err != nil {
		return nil, err
	}
	return object.Generate(types, g.dir, header, g.program.GeneratedElsewhere)
}

func (g *generation) applyConfigurations(types genall.GenerationContext) ([]artifact.File, error) {
	header, err := g.codeHeader()
	if err != nil {
		return nil, err
	}
	files, err := applyconfig.Generate(types, applyconfig.Options{Header: header.Text, Year: header.Year, External: g.options.External})
	for i, f := range files {
		rel, err := filepath.Rel(g.dir, f.Path)
		if err != nil || !filepath.IsLocal(rel) {
			return nil, outputError(f.Path, "is outside the project")
		}
		files[i].Path = filepath.ToSlash(rel)
	}
	return files, err
}

func applyFlags(o *Options) []Flag {
	return []Flag{
		{Name: "external-apply-configurations", To: &o.External, Usage: "`type=package,...` for apply configurations that are not generated here, such as k8s.io/api/core/v1.Toleration=k8s.io/client-go/applyconfigurations/core/v1"},
	}
}

func (g *generation) crds(types genall.GenerationContext) ([]artifact.File, error) {
	header, err := g.header(g.options.ManifestHeaderFile)
	if err != nil {
		return nil, err
	}
	schemas := g.options.CRDs
	schemas.HeaderFile, schemas.Year = header.Path(), header.Year
	types.InputRule = header
	result, err := crd.Generate(types, g.options.crdFolder(), schemas)
	g.kinds = result.Kinds
	return result.Files, err
}

func crdFlags(o *Options) []Flag {
	return []Flag{
		{Name: "output-crd-dir", To: &o.CRDFolder, Default: crd.Folder, Usage: "`folder` of the CRDs"},
		{Name: "crd-max-desc-len", To: &o.CRDs.MaxDescLen, Usage: "cut descriptions in CRDs at the sentence that ends within so many characters; 0 leaves them out, -1 keeps them whole"},
		{Name: "crd-generate-embedded-object-meta", To: &o.CRDs.EmbeddedObjectMeta, Usage: "write the fields of embedded metav1.ObjectMeta into CRDs"},
		{Name: "crd-allow-dangerous-types", To: &o.CRDs.DangerousTypes, Usage: "allow float32 and float64 in CRDs"},
		{Name: "crd-ignore-unexported-fields", To: &o.CRDs.IgnoreUnexportedFields, Usage: "leave fields that are not exported out of CRDs"},
		{Name: "crd-omit-tool-version", To: &o.CRDs.OmitToolVersion, Usage: "leave the version of the generator out of CRDs"},
		{Name: "crd-preserve-unknown-fields", To: &o.CRDs.PreserveUnknownFields, Usage: "set spec.preserveUnknownFields in CRDs to `value`; for those that once were v1beta1"},
	}
}

func (g *generation) role(genall.GenerationContext) ([]artifact.File, error) {
	header, err := g.header(g.options.ManifestHeaderFile)
	if err != nil {
		return nil, err
	}
	o := g.options
	return rbac.Generate(g.program, rbac.Options{
		Folder: o.rbacFolder(), RoleName: cmp.Or(o.RoleName, DefaultRoleName), FileName: o.RoleFile, Header: header,
	})
}

func rbacFlags(o *Options) []Flag {
	return []Flag{
		{Name: "role-name", To: &o.RoleName, Default: DefaultRoleName, Usage: "name of the role of the manager"},
		{Name: "role-file", To: &o.RoleFile, Default: rbac.FileName, Usage: "`name` of the file of the role, which leaves the file that it was in"},
		{Name: "output-rbac-dir", To: &o.RBACFolder, Default: rbac.Folder, Usage: "`folder` of the role; what config/rbac holds and binds stays as it is beside another"},
	}
}

func (g *generation) webhooks(genall.GenerationContext) ([]artifact.File, error) {
	header, err := g.header(g.options.ManifestHeaderFile)
	if err != nil {
		return nil, err
	}
	return webhook.Generate(g.program, g.options.webhookFolder(), header)
}

func webhookFlags(o *Options) []Flag {
	return []Flag{
		{Name: "output-webhook-dir", To: &o.WebhookFolder, Default: webhook.Folder, Usage: "`folder` of the webhook configurations"},
	}
}

// makes reports whether a generator would write a file with this name now, if it made it.
func (g Generator) makes(name string, o Options) bool {
	return g.folder == nil || path.Dir(name) == g.folder(o)
}
