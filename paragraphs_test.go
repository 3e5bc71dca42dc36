package kctrl_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	paragraphCount = flag.Int("paragraphs", 10, "number of paragraphs that TestDrawsParagraphs logs")
	paragraphSeed  = flag.Uint64("seed", 1, "seed of the paragraphs that TestDrawsParagraphs logs")
)

// paragraph is one paragraph of a page, of the help, or of a comment.
type paragraph struct{ at, text string }

// notProse matches the beginnings of headings, tables, pictures, code and directives.
var notProse = regexp.MustCompile("^(#|\\||!\\[|<!--|    |\t|go:|Code generated|Output:)")

// TestDrawsParagraphs draws random paragraphs, to compare them with paragraphs of other projects. Pages, help and
// comments have equal shares. A seed always draws the same paragraphs.
func TestDrawsParagraphs(t *testing.T) {
	drawn := drawParagraphs(t, *paragraphCount, *paragraphSeed)
	if len(drawn) != *paragraphCount || !slices.Equal(drawn, drawParagraphs(t, *paragraphCount, *paragraphSeed)) {
		t.Errorf("two draws with seed %d differ, or do not have %d paragraphs", *paragraphSeed, *paragraphCount)
	}
	for _, p := range drawn {
		t.Logf("%s\n%s\n", p.at, p.text)
	}
}

// drawParagraphs returns count paragraphs, from pages, help and comments in turn.
func drawParagraphs(t *testing.T, count int, seed uint64) []paragraph {
	var pages, help, comments []paragraph
	for _, page := range pageNames(t) {
		if strings.HasPrefix(page, "docs/cli/") {
			help = append(help, paragraphs(page, 1, read(t, page))...)
		} else {
			pages = append(pages, paragraphs(page, 1, read(t, page))...)
		}
	}
	for _, src := range slices.Concat(sources(t), sourcesBelow(t, "examples"), sourcesBelow(t, "bench")) {
		for _, group := range src.file.Comments {
			if strings.Contains(group.Text(), "Apache License") {
				continue
			}
			comments = append(comments, paragraphs(src.path, src.set.Position(group.Pos()).Line, group.Text())...)
		}
	}
	random := rand.New(rand.NewPCG(seed, seed))
	kinds := [][]paragraph{pages, help, comments}
	for _, kind := range kinds {
		random.Shuffle(len(kind), func(i, j int) { kind[i], kind[j] = kind[j], kind[i] })
	}
	var drawn []paragraph
	for i := range count {
		drawn = append(drawn, kinds[i%len(kinds)][i/len(kinds)])
	}
	return drawn
}

// paragraphs returns the prose of a text that begins at a line of a file: blocks of at least six words between empty
// lines, without code.
func paragraphs(file string, line int, text string) []paragraph {
	var all []paragraph
	inCode := false
	for block := range strings.SplitSeq(text, "\n\n") {
		at := fmt.Sprintf("%s:%d", file, line)
		line += strings.Count(block, "\n") + 2
		block = strings.TrimLeft(block, "\n")
		code := inCode || strings.HasPrefix(block, "```") || notProse.MatchString(block)
		inCode = inCode != (strings.Count(block, "```")%2 == 1)
		if !code && len(strings.Fields(block)) >= 6 {
			all = append(all, paragraph{at, strings.TrimRight(block, "\n")})
		}
	}
	return all
}
