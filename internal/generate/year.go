package generate

import (
	"cmp"
	"path"

	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
)

// completeYear sets an unset year if the header of Go files has a placeholder for it.
func (o *Options) completeYear(p *plan.Plan) error {
	header, err := p.Read(path.Clean(cmp.Or(o.HeaderFile, DefaultHeaderFile)))
	if err != nil || o.Year != "" {
		return nil // the caller that reads the header reports the error
	}
	o.Year, err = templated.YearOf(p, header)
	return err
}
