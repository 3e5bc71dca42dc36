package sync

import (
	"go/scanner"
	"go/token"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
)

// lexeme is a token of a Go file.
type lexeme struct {
	offset int
	token  token.Token
	text   string
}

func lexemesOf(text []byte) []lexeme {
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, func(token.Position, string) {}, scanner.ScanComments) // the merge keeps invalid tokens
	var all []lexeme
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return all
		}
		all = append(all, lexeme{file.Offset(pos), tok, literal})
	}
}

// changedTexts returns the one-line comments and string literals that differ between two Go files whose tokens have the
// same kinds. If they are replaced first, the user's edits next to them cause no conflict.
func changedTexts(was, becomes []byte) map[string]string {
	old, now := lexemesOf(was), lexemesOf(becomes)
	if len(old) != len(now) {
		return nil
	}
	changed, unclear := map[string]string{}, map[string]bool{}
	for i, l := range old {
		if l.token != now[i].token {
			return nil
		}
		if (l.token == token.COMMENT || l.token == token.STRING) && !strings.Contains(l.text, "\n") {
			previous, found := changed[l.text]
			unclear[l.text] = unclear[l.text] || found && previous != now[i].text
			changed[l.text] = now[i].text
		}
	}
	for text, now := range changed {
		if unclear[text] || text == now {
			delete(changed, text)
		}
	}
	return changed
}

// withTexts returns a Go file with changed comments and string literals.
func withTexts(text []byte, changed map[string]string) []byte {
	var list []edit.Splice
	for _, l := range lexemesOf(text) {
		if now, found := changed[l.text]; found && (l.token == token.COMMENT || l.token == token.STRING) {
			list = append(list, edit.Splice{From: l.offset, To: l.offset + len(l.text), Text: now})
		}
	}
	return edit.Apply(text, list)
}
