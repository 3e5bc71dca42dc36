package access

import (
	"testing"

	"golang.org/x/tools/go/packages"
)

func TestLibrariesMayAuthorizeMetrics(t *testing.T) {
	filters := &packages.Package{PkgPath: controllerRuntimePath + "/pkg/metrics/filters"}
	library := &packages.Package{
		PkgPath: "example.com/flags", Imports: map[string]*packages.Package{filters.PkgPath: filters},
	}
	own := &packages.Module{Path: "example.com/operator", Main: true}
	for name, test := range map[string]struct {
		main *packages.Package
		want int
	}{
		"library": {&packages.Package{
			PkgPath: "example.com/operator", Module: own, Imports: map[string]*packages.Package{library.PkgPath: library},
		}, 2},
		"own option": {&packages.Package{
			PkgPath: "example.com/operator", Module: own, Imports: map[string]*packages.Package{filters.PkgPath: filters},
		}, 0},
	} {
		p := &program{all: map[string]*packages.Package{
			filters.PkgPath: filters, library.PkgPath: library, test.main.PkgPath: test.main,
		}}
		a := &analysis{flow: &flow{reach: &reach{p: p}}, known: map[string]bool{}}
		a.libraryReviews([]*packages.Package{test.main})
		if len(a.found) != test.want {
			t.Errorf("%s: %d accesses, want %d", name, len(a.found), test.want)
		}
		for _, access := range a.found {
			if !access.Optional || access.Verb != Create {
				t.Errorf("%s: %+v, want an optional create", name, access)
			}
		}
	}
}
