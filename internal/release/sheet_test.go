package release

import (
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestAValueOfAListStaysOne checks that a value in a list is rendered as a value, and lines of a list as lines.
func TestAValueOfAListStaysOne(t *testing.T) {
	s := newSheet("")
	list := sequence()
	list.Content = []*yaml.Node{scalar("kube-system"), s.value("{{ .Release.Namespace | quote }}")}
	s.item(list, "{{- toYaml .Values.more | nindent @ }}")
	node := mapping()
	pair(node, "values", list, "")
	got, err := s.render(node)
	want := "values:\n- kube-system\n- {{ .Release.Namespace | quote }}\n{{- toYaml .Values.more | nindent 0 }}\n"
	if err != nil || got != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
	}
}
