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

// functions are the only functions in templates. Views contain all derived names.
func functions() template.FuncMap {
	return template.FuncMap{"quote": strconv.Quote}
}

// Render returns the file for view; Go code is formatted. An error means that the template does not fit the view, or
// that a value made the Go code invalid. Views from this package's constructors and valid names cause no errors.
func (t Template[V]) Render(view V) ([]byte, error) {
	source, err := files.ReadFile("files/" + t.ID + ".tmpl")
	if err != nil {
		return nil, fmt.Errorf("template %s: %w", t.ID, err)
	}
	left, right := "{{", "}}"
	if t.Helm {
		left, right = "[[", "]]"
	}
	parsed, err := template.New(t.ID).Delims(left, right).Funcs(functions()).Option("missingkey=error").Parse(
		string(source))
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
