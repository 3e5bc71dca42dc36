package upgrade

import (
	"slices"
	"testing"

	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
)

// TestSetupMethodsTakeTheInterface changes the parameter and the imports, and reports methods that need a whole
// manager.
func TestSetupMethodsTakeTheInterface(t *testing.T) {
	const (
		runtime  = "github.com/kctrl-dev/kctrl/runtime/"
		managers = "\t\"" + runtime + "manager\"\n"
		control  = "\t\"" + runtime + "controller\"\n"
		method   = "func (r *Reconciler) SetupWithManager(m "
	)
	file := func(imports, code string) string { return "package x\n\nimport (\n" + imports + ")\n\n" + code }
	for name, test := range map[string]struct {
		before, after string
		left          []int
	}{
		"both packages are imported": {
			file(control+managers, method+"*manager.Manager) error {\n\treturn controller.For[T](m).Complete(r)\n}\n"),
			file(control, method+"controller.Manager) error {\n\treturn controller.For[T](m).Complete(r)\n}\n"), nil,
		},
		"the manager alone": {
			file(managers, method+"*manager.Manager) error {\n\tm.Logger().Info(\"set up\")\n\treturn nil\n}\n"),
			file(control, method+"controller.Manager) error {\n\tm.Logger().Info(\"set up\")\n\treturn nil\n}\n"), nil,
		},
		"the package stays in use": {
			file(managers, method+"*manager.Manager) error {\n\treturn m.Add(manager.RunnableFunc(r.run))\n}\n"),
			file(control+managers, method+"controller.Manager) error {\n\treturn m.Add(manager.RunnableFunc(r.run))\n}\n"), nil,
		},
		"a method of managers alone": {
			file(managers, method+"*manager.Manager) error {\n\tr.live = m.Live()\n\treturn nil\n}\n"),
			file(managers, method+"*manager.Manager) error {\n\tr.live = m.Live()\n\treturn nil\n}\n"), []int{7},
		},
		"another function": {
			file(managers, "func setup(m *manager.Manager) error { return nil }\n"),
			file(managers, "func setup(m *manager.Manager) error { return nil }\n"), nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := gosource.ParseSource("x.go", []byte(test.before))
			after, left := withInterface(s)
			if string(after) != test.after || !slices.Equal(left, test.left) {
				t.Errorf("lines %v are left, want %v; got:\n%s\nwant:\n%s", left, test.left, after, test.after)
			}
		})
	}
}
