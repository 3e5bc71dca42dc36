package load

import (
	"go/token"
	"reflect"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/loader"
)

// packageMaker makes packages that behave like the packages that loader.LoadRoots returns. controller-tools has no
// function for this, because LoadRoots always runs the go command.
type packageMaker struct{ loader reflect.Value }

// newPackageMaker returns a packageMaker for packages whose files are in fset. It returns false if the unexported
// fields of controller-tools' loader differ from the expected ones.
func newPackageMaker(fset *token.FileSet) (packageMaker, bool) {
	field, ok := reflect.TypeFor[loader.Package]().FieldByName("loader")
	if !ok || field.Type.Kind() != reflect.Pointer || field.Type.Elem().Kind() != reflect.Struct {
		return packageMaker{}, false
	}
	made := reflect.New(field.Type.Elem())
	ok = setHidden(made, "cfg", &packages.Config{Fset: fset}) &&
		setHidden(made, "packages", map[*packages.Package]*loader.Package{}) &&
		setHidden(reflect.ValueOf(&loader.Package{}), "imports", map[string]*loader.Package{})
	return packageMaker{made}, ok
}

// make returns a package with the given imports. The caller may add imports to the map later.
func (m packageMaker) make(pkg *packages.Package, imports map[string]*loader.Package) *loader.Package {
	made := &loader.Package{Package: pkg}
	setHidden(reflect.ValueOf(made), "loader", m.loader.Interface())
	setHidden(reflect.ValueOf(made), "imports", imports)
	return made
}

// setHidden sets a field, which may be unexported, of the struct that pointer points to. It returns false if the struct
// has no field with this name and the type of value.
func setHidden(pointer reflect.Value, name string, value any) bool {
	field := pointer.Elem().FieldByName(name)
	if !field.IsValid() || field.Type() != reflect.TypeOf(value) {
		return false
	}
	reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem().Set(reflect.ValueOf(value))
	return true
}
