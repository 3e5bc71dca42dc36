package sync

import (
	"go/token"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
)

// changedTexts returns the one-line comments and string literals that differ between two Go files whose tokens have the
// same kinds. If they are replaced first, the user's edits next to them cause no conflict.
func changedTexts(was, becomes []byte) map[string]string {
	old, now := edit.Tokens(was), edit.Tokens(becomes)
	if len(old) != len(now) {
		return nil
	}
	changed, unclear := map[string]string{}, map[string]bool{}
	for i, l := range old {
		if l.Token != now[i].Token {
			return nil
		}
		if (l.Token == token.COMMENT || l.Token == token.STRING) && !strings.Contains(l.Text, "\n") {
			previous, found := changed[l.Text]
			unclear[l.Text] = unclear[l.Text] || found && previous != now[i].Text
			changed[l.Text] = now[i].Text
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
	for _, l := range edit.Tokens(text) {
		if now, found := changed[l.Text]; found && (l.Token == token.COMMENT || l.Token == token.STRING) {
			list = append(list, edit.Splice{From: l.Offset, To: l.Offset + len(l.Text), Text: now})
		}
	}
	return edit.Apply(text, list)
}
