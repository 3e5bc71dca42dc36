package templates

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"path"
	"strconv"
	"text/template"
)

//go:embed all:files
var files embed.FS

// functions is all that templates can call. Names are spelled in views.
func functions() template.FuncMap {
	return template.FuncMap{"quote": strconv.Quote}
}

// Render returns the file for view. Go code is formatted. An error means that the template and the view do not fit, or
// that a value made broken Go; neither happens with views that the constructors of this package made of valid names.
func (t Template[V]) Render(view V) ([]byte, error) {
	source, err := files.ReadFile("files/" + t.ID + ".tmpl")
	if err != nil {
		return nil, fmt.Errorf("template %s: %w", t.ID, err)
	}
	left, right := "{{", "}}"
	if t.Helm {
		left, right = "[[", "]]"
	}
	parsed, err := template.New(t.ID).Delims(left, right).Funcs(functions()).Option("missingkey=error").Parse(string(source))
	if err != nil {
		return nil, fmt.Errorf("template %s: %w", t.ID, err)
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, view); err != nil {
		return nil, fmt.Errorf("template %s: %w", t.ID, err)
	}
	if path.Ext(t.ID) != ".go" {
		return out.Bytes(), nil
	}
	code, err := format.Source(out.Bytes())
	if err != nil {
		return nil, fmt.Errorf("template %s: %w", t.ID, err)
	}
	return code, nil
}
