package simulate

import (
	_ "embed"
	"html/template"
	"io"
	"slices"
	"time"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"add": func(a, b int) int { return a + b },
}).Parse(pageText))

// pageFailure is a failure as the page shows it.
type pageFailure struct {
	*Failure
	Name  string
	Lanes []string // processes, in the order of their first entries
	Rows  []pageRow
}

// pageRow is an entry of a timeline in the lane of its process.
type pageRow struct {
	Entry
	Clock string
	Lane  int // from 1
	Class string
}

// WritePage writes the report as a self-contained HTML page. name is the name of the command.
func (r *Report) WritePage(w io.Writer, name string) error {
	data := struct {
		*Report
		Command string
		Pages   []pageFailure
	}{r, name, nil}
	for i := range r.Failures {
		data.Pages = append(data.Pages, pageOf(&r.Failures[i], i))
	}
	return pageTemplate.Execute(w, data)
}

func pageOf(f *Failure, i int) pageFailure {
	page := pageFailure{Failure: f, Name: f.name(i)}
	for _, e := range f.Timeline {
		lane := slices.Index(page.Lanes, e.Process)
		if lane < 0 {
			lane = len(page.Lanes)
			page.Lanes = append(page.Lanes, e.Process)
		}
		row := pageRow{Entry: e, Clock: e.Time.Round(time.Millisecond).String(), Lane: lane + 1}
		switch {
		case e.Fault != "":
			row.Class = "fault"
		case e.Outcome != "done":
			row.Class = "quiet"
		}
		page.Rows = append(page.Rows, row)
	}
	return page
}
