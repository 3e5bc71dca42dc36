package lint

import (
	"fmt"
	"strings"

	"k8s.io/client-go/util/jsonpath"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/markers"
)

// checkPaths reports what is wrong with the columns and paths of a kind.
func (n *subject) checkPaths() {
	for _, e := range n.entries {
		switch value := e.Value.(type) {
		case crdmarkers.PrintColumn:
			n.oneOf(e, "type", value.Type, "boolean", "date", "integer", "number", "string")
			n.oneOf(e, "format", value.Format, "", "byte", "date", "date-time", "double", "float", "int32", "int64", "password")
			n.checkPath(e, "JSONPath", value.JSONPath)
		case crdmarkers.SelectableField:
			n.checkPath(e, "JSONPath", value.JSONPath)
		case crdmarkers.SubresourceScale:
			n.checkPath(e, "specpath", value.SpecPath)
			n.checkPath(e, "statuspath", value.StatusPath)
			if value.SelectorPath != nil {
				n.checkPath(e, "selectorpath", *value.SelectorPath)
			}
		}
	}
}

func (n *subject) checkPath(e entry, argument, path string) {
	d := diagnostic.Error{Code: CodePath}
	switch {
	case path == "":
		d.Message = "the path is empty"
		d.Hint = "write a path such as .status.phase"
	case strings.HasPrefix(path, "{"):
		d.Message = fmt.Sprintf("%q stands in braces", path)
		d.Hint = "write " + strings.Trim(path, "{}")
	case !strings.HasPrefix(path, "."):
		d.Message = fmt.Sprintf("%q does not begin with a dot", path)
		d.Hint = "write ." + strings.TrimPrefix(path, "$.")
	default:
		err := jsonpath.New(argument).Parse("{" + path + "}")
		if err == nil {
			return
		}
		d.Message = fmt.Sprintf("%q is no JSON path: %s", path, diagnostic.OneLine(err.Error()))
	}
	d.Message = fmt.Sprintf("+%s: %s: %s", e.label(), argument, d.Message)
	n.reportAt(e, markers.ArgumentValueOffset(e.Text, argument), d)
}
