package lint

import (
	"fmt"
	"strings"

	"k8s.io/client-go/util/jsonpath"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/markers"
)

// checkPath reports a path that the API server would reject.
func (t *target) checkPath(e entry, argument, path string) {
	d := diagnostic.Error{Code: CodePath, Hint: "write a path such as .status.phase"}
	if plain, ok := plainPath(argument, path); ok {
		d.Hint = "write " + plain
	}
	switch {
	case path == "":
		d.Message = "the path is empty"
	case strings.HasPrefix(path, "{"):
		d.Message = fmt.Sprintf("%q is in braces", path)
	case !strings.HasPrefix(path, "."):
		d.Message = fmt.Sprintf("%q does not start with a dot", path)
	default:
		err := jsonpath.New(argument).Parse("{" + path + "}")
		if err == nil {
			return
		}
		d.Message = fmt.Sprintf("%q is not a JSON path: %s", path, diagnostic.OneLine(err.Error()))
	}
	d.Message = fmt.Sprintf("+%s: %s: %s", e.label(), argument, d.Message)
	t.reportAt(e, markers.ArgumentValueOffset(e.Text, argument), d)
}

// plainPath returns a path in the form that the API server expects: with a leading dot, without braces, and without the
// sign for the whole object. It adds quotes if the marker requires them. ok is false if the result is not a path.
func plainPath(argument, path string) (plain string, ok bool) {
	path = strings.TrimPrefix(strings.TrimSpace(strings.Trim(path, "{}")), "$")
	plain = "." + strings.TrimPrefix(path, ".")
	if plain == "." || strings.Contains(plain, "`") || jsonpath.New(argument).Parse("{"+plain+"}") != nil {
		return "", false
	}
	if strings.ContainsAny(plain, ",;:{}'\" ") {
		plain = "`" + plain + "`"
	}
	return plain, true
}
