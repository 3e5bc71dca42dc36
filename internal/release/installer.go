package release

import (
	"bytes"
	"go/token"
	"path"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

// installerTemplate is what PROJECT.lock calls an installer.
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

// PlanInstaller plans the file that [Installer] returns. A file there that is not an installer of this project is an error,
// unless force says to replace it.
func PlanInstaller(p *plan.Plan, file string, force bool, s Source) error {
	content, err := Installer(s)
	if err != nil {
		return err
	}
	return write(p, plan.File{Path: file, Content: content, Template: installerTemplate, Policy: policy(force)})
}

// write plans a file, unless kctrl has written one there that is for something else.
func write(p *plan.Plan, f plan.File) error {
	lock, _, err := p.Lock()
	if err != nil {
		return err
	}
	if have, ok := lock.Entry(path.Clean(f.Path)); ok && have.Template != f.Template {
		return &diagnostic.Error{
			Pos:     token.Position{Filename: f.Path},
			Message: "is a file of the project, which " + have.Template + " has made",
			Hint:    "name a file or folder that is not there yet",
		}
	}
	return p.WriteFile(f)
}

func policy(force bool) plan.Policy {
	if force {
		return plan.Own
	}
	return plan.Guarded
}
