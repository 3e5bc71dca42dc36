package release

import (
	"bytes"
	"path"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

// installerTemplate is the template that PROJECT.lock records for an installer.
const installerTemplate = "release/installer"

// Installer returns all objects in one file, for kubectl apply --server-side -f.
func Installer(s Source) ([]byte, error) {
	objects, err := s.objects(nil)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for i, o := range objects {
		content, err := encode(o.Node)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteString("---\n")
		}
		b.Write(content)
	}
	return b.Bytes(), nil
}

// PlanInstaller plans a file with the content that [Installer] returns. It returns an error if the file exists and is
// not an installer of this project, unless force is set.
func PlanInstaller(p *plan.Plan, file string, force bool, s Source) error {
	content, err := Installer(s)
	if err != nil {
		return err
	}
	return write(p, plan.File{Path: file, Content: content, Template: installerTemplate, Force: force})
}

// write plans a file. It returns an error if kctrl wrote the existing file at the path for another purpose.
func write(p *plan.Plan, f plan.File) error {
	lock := p.Lock()
	if have, ok := lock.Entry(path.Clean(f.Path)); ok && have.Template != f.Template {
		return diagnostic.In(f.Path, "is a file of the project, which "+have.Template+" has made",
			"choose a new file or directory")
	}
	return p.WriteFile(f)
}
