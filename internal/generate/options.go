package generate

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/crd"
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
	"github.com/kctrl-dev/kctrl/internal/generate/rbac"
	"github.com/kctrl-dev/kctrl/internal/generate/webhook"
	"github.com/kctrl-dev/kctrl/internal/lint"
	"github.com/kctrl-dev/kctrl/internal/source"
)

// DefaultHeaderFile is the header of generated code, in projects that have the file.
const DefaultHeaderFile = "hack/boilerplate.go.txt"

// DefaultRoleName is the name of the role of the manager.
const DefaultRoleName = "manager-role"

// Options say what to generate. The zero value generates nothing.
type Options struct {
	// Generators are the names of the generators that run; see [Generators]. Their order is that of the list.
	Generators []string

	// Paths are the packages to look at, as in load.Config. None, or "./...", means all packages of the project; only
	// then are files removed that nothing generates any more.
	Paths []string
	// AllowUnknown are prefixes of markers that may be unknown.
	AllowUnknown []string
	// Warn is told of what is wrong with markers that do not reach any output. Nil means nobody is.
	Warn func(lint.Finding)
	// Inputs is told what the result depends on, as far as that is known, whether there is one or not. Nil means nobody is.
	Inputs func(source.Inputs)
	// Cache keeps results for later runs. The zero value keeps nothing.
	Cache incremental.Store
	// HeaderFile is what generated code begins with, relative to the project. Empty means DefaultHeaderFile if there is
	// one, else no header.
	HeaderFile string
	// ManifestHeaderFile is what manifests begin with, relative to the project. Empty means no header.
	ManifestHeaderFile string
	// Year replaces YEAR in the headers.
	Year string

	// External says where the apply configurations of other types are; see applyconfig.Options.
	External map[string]string
	// CRDs say what CRDs contain. Their header is ManifestHeaderFile.
	CRDs crd.Options
	// RoleName names the role. Empty means DefaultRoleName.
	RoleName string
	// RoleFile names the file of the role. Empty means rbac.FileName.
	RoleFile string
	// CRDFolder, RBACFolder and WebhookFolder are where manifests are written, relative to the project. Empty means the
	// Folder of the package that generates them.
	CRDFolder, RBACFolder, WebhookFolder string
}

func (o Options) crdFolder() string { return folder(o.CRDFolder, crd.Folder) }

func (o Options) rbacFolder() string { return folder(o.RBACFolder, rbac.Folder) }

func (o Options) webhookFolder() string { return folder(o.WebhookFolder, webhook.Folder) }

func folder(named, usual string) string { return path.Clean(filepath.ToSlash(cmp.Or(named, usual))) }

// rolePath returns the file that the role is written to.
func (o Options) rolePath() string {
	return path.Join(o.rbacFolder(), cmp.Or(o.RoleFile, rbac.FileName))
}

// check reports an output that would not be a folder of the project.
func (o Options) check() error {
	var errs []error
	for _, folder := range []string{o.crdFolder(), o.rbacFolder(), o.webhookFolder()} {
		if !fs.ValidPath(folder) {
			errs = append(errs, outputError(folder, "is no folder of the project"))
		}
	}
	if o.RoleFile != "" && (path.Base(o.RoleFile) != o.RoleFile || !fs.ValidPath(o.RoleFile)) {
		errs = append(errs, outputError(o.RoleFile, "is no file name"))
	}
	return errors.Join(errs...)
}

func outputError(name, message string) error {
	return &diagnostic.Error{
		Message: fmt.Sprintf("output %q %s", name, message),
		Hint:    "name it relative to the project, such as config/crd/bases; kctrl gen writes anywhere",
		Class:   diagnostic.ErrUsage,
	}
}
