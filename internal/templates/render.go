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

// functions returns the only functions that templates can call. Names that need logic are in the views.
func functions() template.FuncMap {
	return template.FuncMap{"quote": strconv.Quote}
}

// Render returns the content of the file for view. It formats Go code. It returns an error if the template does not fit
// the view, or if a value in the view makes the Go code invalid. Views that this package's constructors return for
// valid names cause no errors.
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
