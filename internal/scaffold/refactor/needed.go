package refactor

import (
	"errors"
	"fmt"
	"path"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
)

// KeepNeeded takes the Go files off those that go which kept files need, and adds them to kept with the reason. Files
// that say what a package is stay without a reason if anything of their package does. A file of the module repo that
// is neither and needs one that goes is a *diagnostic.Error.
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

// keepCommon takes files off those that go which say what a package is of which something stays.
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

// needed returns the files that go and that kept ones need, each with one that does.
func needed(sources []gosource.GoSource, repo string, goes map[string]bool, kept map[string]string) (map[string]string, error) {
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
		for _, u := range s.Uses(repo) {
			owner, found := declared[u.GoName]
			if !found || u.Name == "init" || u.Name == "_" {
				continue
			}
			if _, isKept := kept[s.Name]; isKept {
				needed[owner] = s.Name
				continue
			}
			errs = append(errs, &diagnostic.Error{
				Pos:     u.At,
				Message: fmt.Sprintf("needs %s, which %s declares and which would go away", u.Name, owner),
				Hint:    "take it out there first, or delete what this file belongs to",
			})
			break
		}
	}
	return needed, errors.Join(errs...)
}
