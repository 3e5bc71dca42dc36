package wire

import (
	"reflect"
	"strings"
	"unicode"
)

// field is a member of a struct: the Go field that a JSON name stands for.
type field struct {
	name   string
	index  []int // of the field, through the structs that are embedded
	typ    reflect.Type
	tagged bool // the name is from a tag
}

// fieldsOf returns the members of the struct type t by the rules of encoding/json. It reports false for a struct that
// uses more of these rules than are known here: quoted values and embedded pointers.
func fieldsOf(t reflect.Type) ([]field, bool) {
	all, ok := appendFields(nil, t, nil)
	byName := make(map[string][]field)
	var names []string
	for _, f := range all {
		if len(byName[f.name]) == 0 {
			names = append(names, f.name)
		}
		byName[f.name] = append(byName[f.name], f)
	}
	var fields []field
	for _, name := range names {
		if f, found := dominant(byName[name]); found {
			fields = append(fields, f)
		}
	}
	return fields, ok
}

func appendFields(fields []field, t reflect.Type, prefix []int) ([]field, bool) {
	for i := range t.NumField() {
		sf := t.Field(i)
		tag, tagged := sf.Tag.Lookup("json")
		if tag == "-" || !sf.IsExported() && !sf.Anonymous {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if !isValidName(name) {
			name = ""
		}
		index := append(append([]int{}, prefix...), i)
		switch {
		case tagged && strings.Contains(","+options+",", ",string,"):
			return nil, false
		case sf.Anonymous && (sf.Type.Kind() == reflect.Pointer || !sf.IsExported()):
			return nil, false
		case sf.Anonymous && name == "" && sf.Type.Kind() == reflect.Struct:
			var ok bool
			if fields, ok = appendFields(fields, sf.Type, index); !ok {
				return nil, false
			}
			continue
		}
		f := field{name: name, index: index, typ: sf.Type, tagged: name != ""}
		if name == "" {
			f.name = sf.Name
		}
		fields = append(fields, f)
	}
	return fields, true
}

// dominant returns the field that a name stands for: the one that is embedded least deep, of several the one whose name
// is from a tag, and none if that leaves several.
func dominant(fields []field) (field, bool) {
	best, count := fields[0], 1
	for _, f := range fields[1:] {
		switch {
		case len(f.index) > len(best.index), len(f.index) == len(best.index) && best.tagged && !f.tagged:
		case len(f.index) == len(best.index) && f.tagged == best.tagged:
			count++
		default:
			best, count = f, 1
		}
	}
	return best, count == 1
}

// isValidName reports whether encoding/json takes name from a tag.
func isValidName(name string) bool {
	for _, r := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return name != ""
}

// fieldTable finds fields by name: those of one length are together.
type fieldTable [][]plannedField

type plannedField struct {
	name  string
	index []int
	plan  *plan
}

func (t *fieldTable) add(f plannedField) {
	for len(*t) <= len(f.name) {
		*t = append(*t, nil)
	}
	(*t)[len(f.name)] = append((*t)[len(f.name)], f)
}

func (t fieldTable) find(name []byte) *plannedField {
	if len(name) >= len(t) {
		return nil
	}
	same := t[len(name)]
	for i := range same {
		if same[i].name == string(name) {
			return &same[i]
		}
	}
	return nil
}
