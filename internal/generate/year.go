package generate

import (
	"cmp"
	"path"

	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
)

// completeYear sets the year where nobody says one and the header of code has a place for it.
func (o *Options) completeYear(p *plan.Plan) error {
	header, err := p.Read(path.Clean(cmp.Or(o.HeaderFile, DefaultHeaderFile)))
	if err != nil || o.Year != "" {
		return nil // who reads the header says what is wrong with it
	}
	o.Year, err = templated.YearOf(p, header)
	return err
}
