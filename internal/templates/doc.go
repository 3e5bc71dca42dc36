// Package templates holds the files that kctrl scaffolds, as real files that look like their output. No other package
// renders text templates.
//
// The files are in files/, in one directory for each feature. The rest of the path is that in the project. The tables
// of this package list the templates with their views and the paths of their output:
//
//	for _, t := range templates.Project() {
//		content, err := t.Render(view)
//		... // write content to t.Path(view)
//	}
//
// Views are plain data. Constructors of views, such as [NewKind], derive every name that a template prints, so that
// templates need no logic. The package does not read or write projects: internal/scaffold does.
package templates
