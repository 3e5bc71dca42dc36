package main

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// The dimensions of the picture in pixels, and its times in seconds.
const (
	charWidth, lineHeight = 8.4, 20
	margin, bar           = 16, 32
	typing, printing      = 1.2, 0.15 // before a command, and before a line of output
)

// draw returns a session as an animated SVG picture. Lines appear one after the other and stay visible. Without
// animations, for example for readers who prefer reduced motion, all lines are visible.
func draw(session string) string {
	lines := strings.Split(strings.TrimRight(session, "\n"), "\n")
	columns := 0
	for _, line := range lines {
		columns = max(columns, utf8.RuneCountInString(line))
	}
	width, height := int(float64(columns)*charWidth)+2*margin, len(lines)*lineHeight+bar+margin
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">
<title>A terminal session: kctrl creates an operator, runs it on an API server in memory, and reports a misspelled marker</title>
<style>
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #d0d7de; white-space: pre; }
.command { fill: #7ee787; }
@media (prefers-reduced-motion: no-preference) { text { animation: appear 0.01s both; } }
@keyframes appear { from { opacity: 0; } to { opacity: 1; } }
</style>
<rect width="100%%" height="100%%" rx="8" fill="#0d1117" stroke="#57606a"/>
<circle cx="18" cy="16" r="5" fill="#ff5f57"/><circle cx="36" cy="16" r="5" fill="#febc2e"/><circle cx="54" cy="16" r="5" fill="#28c840"/>
`, width, height, width, height)
	at := -typing // the first command is visible at once
	for i, line := range lines {
		class := ""
		if strings.HasPrefix(line, "$ ") {
			at += typing
			class = ` class="command"`
		} else {
			at += printing
		}
		fmt.Fprintf(&out, `<text%s x="%d" y="%d" style="animation-delay:%.2fs">%s</text>`+"\n",
			class, margin, bar+(i+1)*lineHeight-6, at, html.EscapeString(line))
	}
	return out.String() + "</svg>\n"
}
