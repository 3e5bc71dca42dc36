package builtin

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestVolumeTypesAreAllKnown compares the orders in which types are looked at with the types that there are, and has an empty source of each checked.
func TestVolumeTypesAreAllKnown(t *testing.T) {
	for _, of := range []struct {
		source any
		order  []string
	}{{corev1.VolumeSource{}, podVolumeTypes}, {corev1.PersistentVolumeSource{}, volumeTypes}} {
		var names []string
		source := reflect.New(reflect.TypeOf(of.source)).Elem()
		for i := range source.NumField() {
			name, _, _ := strings.Cut(source.Type().Field(i).Tag.Get("json"), ",")
			names = append(names, name)
			source.Field(i).Set(reflect.New(source.Field(i).Type().Elem()))
		}
		slices.Sort(names)
		if order := slices.Sorted(slices.Values(of.order)); !slices.Equal(order, names) {
			t.Errorf("%T: %v, want %v", of.source, order, names)
		}
		typesOf(source.Interface(), of.order, func(name string, source any) {
			if _, ok := driverlessTypes[name]; !ok {
				return
			}
			f := &Findings{}
			if f.driverless(name, source, field.NewPath("spec")); len(f.List) == 0 {
				t.Errorf("%T: nothing is wrong with an empty %s", of.source, name)
			}
		})
	}
}
