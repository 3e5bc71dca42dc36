package applyconfig

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/markers"
)

// above returns the comment that ends right above a position, and the one with a blank line in between above that.
func (c comments) above(pos token.Position) (detached, doc []string) {
	group := c[commentEnd{pos.Filename, pos.Line - 1}]
	upper := c[commentEnd{pos.Filename, pos.Line - 2}]
	if group != nil {
		upper = c.beforeGroup(group, pos)
	}
	return lines(upper), lines(group)
}

// beforeGroup returns the comment that ends two lines above group, which ends right above pos.
func (c comments) beforeGroup(group *ast.CommentGroup, pos token.Position) *ast.CommentGroup {
	height := 0
	for _, comment := range group.List {
		height += 1 + strings.Count(comment.Text, "\n")
	}
	return c[commentEnd{pos.Filename, pos.Line - height - 2}]
}

// lines returns the text of a comment without its slashes.
func lines(group *ast.CommentGroup) []string {
	if text := strings.TrimRight(group.Text(), "\n"); text != "" {
		return strings.Split(text, "\n")
	}
	return nil
}

// withoutMarkers returns what of a comment is for people.
func withoutMarkers(lines []string) []string {
	var kept []string
	for _, line := range lines {
		if text, isMarker := markers.Line(line); !isMarker {
			kept = append(kept, text)
		}
	}
	return kept
}

// readTags reads what the tags of client-gen in a comment say.
func (t *apiType) readTags(lines []string) {
	t.applies = true
	for _, line := range lines {
		text, _ := markers.Line(line)
		tag, ok := strings.CutPrefix(text, "+genclient")
		if !ok {
			continue
		}
		name, value, _ := strings.Cut(tag, "=")
		verbs := strings.Split(value, ",")
		switch name {
		case "":
			t.client = true
		case ":nonNamespaced":
			t.clusterWide = true
		case ":noStatus":
			t.noStatus = true
		case ":readonly":
			t.applies = false
		case ":skipVerbs":
			t.applies = !slices.Contains(verbs, "apply") || !slices.Contains(verbs, "applyStatus")
		case ":onlyVerbs":
			t.applies = slices.Contains(verbs, "apply") || slices.Contains(verbs, "applyStatus")
		case ":method":
			for _, parameter := range verbs {
				if subresource, ok := strings.CutPrefix(strings.TrimSpace(parameter), "subresource="); ok {
					t.subresources = append(t.subresources, subresource)
				}
			}
		}
	}
}
