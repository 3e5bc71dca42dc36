// Package templates contains the templates of the files that kctrl scaffolds. Each template is a file that looks like
// its output. No other package renders text templates.
//
// The templates are in files/, in one directory for each feature. Below this directory, a template has the same path as
// its output in the project. Functions of this package list the templates with their views and the paths of their
// output:
//
//	for _, t := range templates.Project() {
//		content, err := t.Render(view)
//		... // write content to t.Path(view)
//	}
//
// Views are plain data. Constructors of views, such as [NewKind], derive every name that a template prints, so that
// templates need no logic. The package does not read or write projects; internal/scaffold does.
package templates
