package lint

import (
	"fmt"
	"strings"

	"k8s.io/client-go/util/jsonpath"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/markers"
)

// checkPath reports a path in an object that the API server would refuse.
func (t *target) checkPath(e entry, argument, path string) {
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
	t.reportAt(e, markers.ArgumentValueOffset(e.Text, argument), d)
}
