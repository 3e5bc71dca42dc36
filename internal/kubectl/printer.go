package kubectl

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"
)

// printer prints responses as they arrive. Without a watch, it first collects all objects for YAML and JSON, because it
// prints several objects as one list.
type printer struct {
	out     io.Writer
	o       GetOptions
	several bool // several resources are selected, so rows start with the resource
	single  bool // a single object is selected by name
	spread  bool // all namespaces are selected, so rows of namespaced objects start with the namespace

	resource Resource
	columns  []column
	header   []string // last printed header
	widths   []int    // current widths of columns
	printed  int      // number of rows or objects of this resource
	tables   int
	kept     []unstructured.Unstructured
}

type column struct {
	name string
	wide bool // the column is shown only if all columns are
}

func (p *printer) accept() string {
	switch p.o.Output {
	case "", "table", "wide":
		return tableFormat
	}
	return objectFormat
}

// begin starts the output of a resource.
func (p *printer) begin(r Resource) {
	if p.printed > 0 {
		p.tables++
	}
	p.resource, p.columns, p.header, p.widths, p.printed = r, nil, nil, nil, 0
}

// page prints a response.
func (p *printer) page(a *answer) error {
	if p.accept() == tableFormat {
		return p.rows(a)
	}
	for _, o := range a.Items {
		if !p.o.ManagedFields {
			o.SetManagedFields(nil)
		}
		if err := p.object(o); err != nil {
			return err
		}
		p.printed++
	}
	return nil
}

func (p *printer) object(o unstructured.Unstructured) error {
	switch {
	case p.o.Output == "name":
		_, err := fmt.Fprintln(p.out, Describe(&o))
		return err
	case !p.o.Watch:
		p.kept = append(p.kept, o)
		return nil
	case p.o.Output == "yaml":
		if _, err := fmt.Fprintln(p.out, "---"); err != nil {
			return err
		}
	}
	return p.encode(o.Object)
}

// end prints the collected objects: a single object, or a list.
func (p *printer) end() error {
	if p.o.Watch || p.o.Output != "yaml" && p.o.Output != "json" {
		return nil
	}
	if p.single {
		if len(p.kept) == 0 {
			return nil
		}
		return p.encode(p.kept[0].Object)
	}
	items := make([]any, len(p.kept))
	for i, o := range p.kept {
		items[i] = o.Object
	}
	return p.encode(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
}

func (p *printer) encode(value any) error {
	if p.o.Output == "json" {
		encoder := json.NewEncoder(p.out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(value)
	}
	content, err := yaml.Marshal(value)
	if err != nil {
		return err
	}
	_, err = p.out.Write(content)
	return err
}

// rows prints a table. Only the first response of a watch has column definitions.
func (p *printer) rows(a *answer) error {
	if a.Kind != "Table" {
		a = tableOf(a)
	}
	if len(a.ColumnDefinitions) > 0 {
		p.columns = nil
		for _, definition := range a.ColumnDefinitions {
			p.columns = append(p.columns, column{strings.ToUpper(definition.Name), definition.Priority > 0})
		}
	}
	if len(a.Rows) == 0 {
		return nil
	}
	var text strings.Builder
	var lines [][]string
	if header := p.heading(); !slices.Equal(header, p.header) {
		if p.tables > 0 && p.printed == 0 {
			text.WriteByte('\n')
		}
		p.header, p.widths = header, nil
		lines = append(lines, header)
	}
	for _, row := range a.Rows {
		lines = append(lines, p.line(row.Object.Metadata, row.Cells))
	}
	p.printed += len(a.Rows)
	p.align(lines)
	for _, line := range lines {
		p.write(&text, line)
	}
	_, err := io.WriteString(p.out, text.String())
	return err
}

func (p *printer) heading() []string {
	var names []string
	if p.spread && p.resource.Namespaced {
		names = append(names, "NAMESPACE")
	}
	for _, c := range p.columns {
		if !c.wide || p.o.Output == "wide" {
			names = append(names, c.name)
		}
	}
	return names
}

func (p *printer) line(of rowMetadata, cells []any) []string {
	var line []string
	if p.spread && p.resource.Namespaced {
		line = append(line, of.Namespace)
	}
	for i, c := range p.columns {
		if c.wide && p.o.Output != "wide" {
			continue
		}
		text := ""
		if i < len(cells) && cells[i] != nil {
			text = cellText(fmt.Sprint(cells[i]))
		}
		if p.several && c.name == "NAME" {
			text = p.resource.singular() + "/" + text
		}
		line = append(line, text)
	}
	return line
}

// cellText returns the first line of a value, without control characters.
func cellText(value string) string {
	if end := strings.IndexAny(value, "\n\r\f"); end >= 0 {
		value = value[:end] + "..."
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return utf8.RuneError
		}
		return r
	}, value)
}

const (
	columnGap = 3
	leastCell = 6 // including the gap, as in kubectl
)

// align widens the columns so that the given lines fit. Columns never become narrower, so the rows of a watch stay
// aligned.
func (p *printer) align(lines [][]string) {
	for _, line := range lines {
		for i, cell := range line {
			if i == len(p.widths) {
				p.widths = append(p.widths, leastCell)
			}
			p.widths[i] = max(p.widths[i], utf8.RuneCountInString(cell)+columnGap)
		}
	}
}

func (p *printer) write(to *strings.Builder, line []string) {
	for i, cell := range line {
		to.WriteString(cell)
		if i < len(line)-1 {
			to.WriteString(strings.Repeat(" ", p.widths[i]-utf8.RuneCountInString(cell)))
		}
	}
	to.WriteByte('\n')
}

// tableOf returns a table of the objects in a, for resources for which the server does not return a table.
func tableOf(a *answer) *answer {
	t := &answer{Kind: "Table", Metadata: a.Metadata, ColumnDefinitions: []columnDefinition{{Name: "Name"}, {Name: "Age"}}}
	for _, o := range a.Items {
		age := duration.HumanDuration(time.Since(o.GetCreationTimestamp().Time))
		r := row{Cells: []any{o.GetName(), age}}
		r.Object.Metadata = rowMetadata{o.GetName(), o.GetNamespace()}
		t.Rows = append(t.Rows, r)
	}
	return t
}
