package refactor

import (
	"errors"
	"fmt"
	"path"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
)

// KeepNeeded moves the Go files that kept files need from goes to kept, and records the reason. It keeps a file with
// the package documentation or the group's version, without a reason, if another file of the package is kept. If any
// other file of module repo needs a file in goes, KeepNeeded returns a *diagnostic.Error.
func KeepNeeded(sources []gosource.GoSource, repo string, goes map[string]bool, kept map[string]string) error {
	for {
		keepCommon(sources, goes)
		needed, err := needed(sources, repo, goes, kept)
		if err != nil || len(needed) == 0 {
			return err
		}
		for name, by := range needed {
			delete(goes, name)
			kept[name] = fmt.Sprintf("is needed by %s, which is kept, so it is kept too", by)
		}
	}
}

// keepCommon removes the files from goes that document or register a package, if another file of the package is kept.
func keepCommon(sources []gosource.GoSource, goes map[string]bool) {
	stays := map[string]bool{}
	for _, s := range sources {
		if !goes[s.Name] {
			stays[path.Dir(s.Name)] = true
		}
	}
	for name := range goes {
		if base := path.Base(name); stays[path.Dir(name)] && (base == "doc.go" || base == "groupversion_info.go") {
			delete(goes, name)
		}
	}
}

// needed returns the files in goes that kept files need, each with one file that needs it.
func needed(sources []gosource.GoSource, repo string, goes map[string]bool,
	kept map[string]string) (map[string]string, error) {
	declared := map[gosource.GoName]string{}
	for _, s := range sources {
		if goes[s.Name] {
			for _, name := range s.Declares() {
				declared[name] = s.Name
			}
		}
	}
	needed := map[string]string{}
	var errs []error
	for _, s := range sources {
		if goes[s.Name] {
			continue
		}
		for _, u := range s.Idents(repo) {
			owner, found := declared[u.GoName]
			if !found || u.Name == "init" || u.Name == "_" {
				continue
			}
			if _, isKept := kept[s.Name]; isKept {
				needed[owner] = s.Name
				continue
			}
			errs = append(errs, diagnostic.At(s.Set.Position(u.Node.Pos()),
				fmt.Sprintf("needs %s, which %s declares and which would go away", u.Name, owner),
				"remove this use first, or delete the kind that this file belongs to"))
			break
		}
	}
	return needed, errors.Join(errs...)
}
