package controller

import (
	"context"
	"strings"

	"github.com/kctrl-dev/kctrl/runtime/handler"
)

// maxCauses is how many causes of one reconcile are kept.
const maxCauses = 4

// Reason is why a reconcile takes place.
type Reason struct {
	// Causes are the first events that asked for it since the reconcile before began, in the order in which they came.
	// There is none for what existed when the controller started, and when the reconciler itself has asked, by an error
	// or by RequeueAfter.
	Causes []handler.Cause
	// More is how many events came after these.
	More int
}

// String is the reason in one line, such as "Updated Deployment.apps default/web and 2 more".
func (r Reason) String() string {
	var text strings.Builder
	for i, cause := range r.Causes {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(cause.String())
	}
	if r.More > 0 {
		text.WriteString(", and more")
	}
	return text.String()
}

type reasonKey struct{}

// ReasonFrom returns why the reconcile with this context takes place. It is for logs and metrics: what a reconciler does
// should depend on what it reads alone, because events are merged and a new leader has none.
func ReasonFrom(ctx context.Context) Reason {
	because, _ := ctx.Value(reasonKey{}).(reason)
	return because.exported()
}

// reason is a Reason while it grows. Most have one cause, which costs no slice.
type reason struct {
	first *handler.Cause // nil in the zero value
	rest  []*handler.Cause
	more  int
}

// and returns the reason with a cause added.
func (r reason) and(cause *handler.Cause) reason {
	switch {
	case r.first == nil:
		r.first = cause
	case len(r.rest) < maxCauses-1:
		r.rest = append(r.rest, cause)
	default:
		r.more++
	}
	return r
}

func (r reason) exported() Reason {
	if r.first == nil {
		return Reason{}
	}
	all := Reason{Causes: []handler.Cause{*r.first}, More: r.more}
	for _, cause := range r.rest {
		all.Causes = append(all.Causes, *cause)
	}
	return all
}
