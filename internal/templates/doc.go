// Package templates holds the files that kctrl scaffolds, as real files that look like their output, and is the only
// code that renders text templates.
//
// The files are below files/, in one folder for each thing that is scaffolded at once; the rest of the path is that in
// the project. The tables of this package list them with the view that they are rendered from and the path they get:
//
//	for _, t := range templates.Project() {
//		content, err := t.Render(view)
//		... // write content to t.Path(view)
//	}
//
// Views are plain data. Every name that a template prints is spelled by a constructor of a view, such as [NewKind], so
// that templates print and do not decide. Nothing here reads or writes a project: internal/scaffold does.
package templates
