package kctrl_test

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The measures of a diagram, in pixels.
const (
	cellWidth, cellHeight = 216, 100
	boxWidth, boxHeight   = 152, 54
	diagramMargin         = 14
)

// diagram is a picture of boxes on a grid and arrows between them. Its source has one item per line:
//
//	title TEXT                  what the picture shows, for readers who cannot see it
//	box NAME COLUMN ROW TEXT    a box; the text after a | is a second line
//	arrow FROM TO TEXT          an arrow with a label
//	dashed FROM TO TEXT         a dashed one
//
// An arrow between boxes in different rows and columns follows the row of the first box.
type diagram struct {
	title         string
	boxes         map[string]diagramBox
	names         []string // of boxes, in order
	arrows        []diagramArrow
	columns, rows int
}

type diagramBox struct {
	column, row int
	text        string
}

func (b diagramBox) center() (x, y int) {
	return diagramMargin + b.column*cellWidth + boxWidth/2, diagramMargin + b.row*cellHeight + boxHeight/2
}

type diagramArrow struct {
	from, to, text string
	dashed         bool
}

// TestDiagrams compares the pictures of the guide with their sources. With -update it draws them.
func TestDiagrams(t *testing.T) {
	names, err := filepath.Glob(guide + "/diagrams/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	for _, name := range names {
		d, err := parseDiagram(read(t, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		picture := strings.TrimSuffix(name, ".txt") + ".svg"
		if *update {
			write(t, picture, d.svg())
		}
		if have, err := os.ReadFile(picture); err != nil || string(have) != d.svg() {
			t.Errorf("%s is out of date (%v); run go test . -run %s -update", picture, err, t.Name())
		}
	}
}

func parseDiagram(source string) (*diagram, error) {
	d := &diagram{boxes: map[string]diagramBox{}}
	for n, line := range strings.Split(strings.TrimSpace(source), "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) > 1 && words[0] == "title":
			d.title = strings.Join(words[1:], " ")
		case len(words) > 4 && words[0] == "box":
			column, err := strconv.Atoi(words[2])
			row, err2 := strconv.Atoi(words[3])
			if err != nil || err2 != nil {
				return nil, fmt.Errorf("line %d: column and row must be numbers", n+1)
			}
			d.boxes[words[1]] = diagramBox{column, row, strings.Join(words[4:], " ")}
			d.names = append(d.names, words[1])
			d.columns, d.rows = max(d.columns, column+1), max(d.rows, row+1)
		case len(words) > 2 && (words[0] == "arrow" || words[0] == "dashed"):
			for _, name := range words[1:3] {
				if _, found := d.boxes[name]; !found {
					return nil, fmt.Errorf("line %d: there is no box %s", n+1, name)
				}
			}
			d.arrows = append(d.arrows, diagramArrow{words[1], words[2], strings.Join(words[3:], " "), words[0] == "dashed"})
		default:
			return nil, fmt.Errorf("line %d: cannot parse %q", n+1, line)
		}
	}
	return d, nil
}

const diagramStyle = `<style>
text{font:13px system-ui,sans-serif;fill:#1f2328;text-anchor:middle}
.s{font-size:12px;fill:#59636e}
.l{font-size:12px;paint-order:stroke;stroke:#fff;stroke-width:5px}
rect{fill:#eef4fb;stroke:#4078b0}
path{fill:none;stroke:#59636e;stroke-width:1.5}
.d{stroke-dasharray:5 4}
marker path{fill:#59636e;stroke:none}
@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.s{fill:#9198a1}.l{stroke:#0d1117}rect{fill:#16273a;stroke:#5a9bd5}path{stroke:#9198a1}marker path{fill:#9198a1}}
</style>
<defs><marker id="a" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>
`

// svg draws the diagram. Its colors follow the reader's light or dark mode.
func (d *diagram) svg() string {
	width := 2*diagramMargin + (d.columns-1)*cellWidth + boxWidth
	height := 2*diagramMargin + (d.rows-1)*cellHeight + boxHeight
	var b strings.Builder
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" role="img" aria-labelledby="t">`+"\n",
		width, height)
	fmt.Fprintf(&b, "<title id=\"t\">%s</title>\n%s", html.EscapeString(d.title), diagramStyle)
	for _, a := range d.arrows {
		d.drawArrow(&b, a)
	}
	for _, name := range d.names {
		box := d.boxes[name]
		x, y := box.center()
		fmt.Fprintf(&b, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n", x-boxWidth/2, y-boxHeight/2,
			boxWidth, boxHeight)
		first, second, two := strings.Cut(box.text, "|")
		if !two {
			fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\">%s</text>\n", x, y+4, html.EscapeString(first))
			continue
		}
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\">%s</text>\n", x, y-4, html.EscapeString(first))
		fmt.Fprintf(&b, "<text class=\"s\" x=\"%d\" y=\"%d\">%s</text>\n", x, y+14, html.EscapeString(second))
	}
	return b.String() + "</svg>\n"
}

// drawArrow draws an arrow from the edge of one box to the edge of another.
func (d *diagram) drawArrow(b *strings.Builder, a diagramArrow) {
	x1, y1 := d.boxes[a.from].center()
	x2, y2 := d.boxes[a.to].center()
	right, down := sign(x2-x1), sign(y2-y1)
	style := ""
	if a.dashed {
		style = ` class="d"`
	}
	var path string
	var x, y int // of the label
	switch {
	case right == 0:
		y1, y2 = y1+down*boxHeight/2, y2-down*boxHeight/2
		path, x, y = fmt.Sprintf("M%d %dV%d", x1, y1, y2), x1, (y1+y2)/2+4
	case down == 0:
		x1, x2 = x1+right*boxWidth/2, x2-right*boxWidth/2
		path, x, y = fmt.Sprintf("M%d %dH%d", x1, y1, x2), (x1+x2)/2, y1-7
	default:
		x1, y2 = x1+right*boxWidth/2, y2-down*boxHeight/2
		path, x, y = fmt.Sprintf("M%d %dH%dV%d", x1, y1, x2, y2), x2, (y1+y2)/2+4
	}
	fmt.Fprintf(b, "<path%s d=\"%s\" marker-end=\"url(#a)\"/>\n", style, path)
	if a.text != "" {
		fmt.Fprintf(b, "<text class=\"l\" x=\"%d\" y=\"%d\">%s</text>\n", x, y, html.EscapeString(a.text))
	}
}

func sign(n int) int {
	switch {
	case n > 0:
		return 1
	case n < 0:
		return -1
	}
	return 0
}
