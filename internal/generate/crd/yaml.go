package crd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
	sigsyaml "sigs.k8s.io/yaml"
)

// printer writes definitions in their order. It formats some of them while the parser reads the next kind, because
// formatting takes longer than all other steps. Only one goroutine may use it, and that goroutine calls wait at the
// end.
type printer struct {
	ctx     genall.GenerationContext
	header  string
	options crd.Generator
	// printing are the definitions that are being formatted, in order: at most printsAtOnce of them.
	printing []<-chan printed
	err      error // the first one
}

type printed struct {
	documents []document
	err       error
}

const printsAtOnce = 4

// print starts to format a definition. The caller must not change the definition afterwards.
func (p *printer) print(definition apiextensionsv1.CustomResourceDefinition) {
	if len(p.printing) == printsAtOnce {
		p.write()
	}
	done := make(chan printed, 1)
	p.printing = append(p.printing, done)
	go func() {
		documents, err := printDefinition(definition, p.header, p.options)
		done <- printed{documents, err}
	}()
}

// wait writes all remaining definitions. After an error, it writes nothing.
func (p *printer) wait() error {
	for len(p.printing) > 0 {
		p.write()
	}
	return p.err
}

// write writes the first definition that is being formatted.
func (p *printer) write() {
	first := <-p.printing[0]
	p.printing = p.printing[1:]
	p.err = cmp.Or(p.err, first.err)
	for _, d := range first.documents {
		if p.err == nil {
			p.err = p.writeFile(d)
		}
	}
}

func (p *printer) writeFile(d document) error {
	out, err := p.ctx.Open(nil, d.name)
	if err != nil {
		return err
	}
	_, err = out.Write(d.content)
	return errors.Join(err, out.Close())
}

// marshal formats a document as the library does, with transforms that are plain functions. For most documents it
// avoids the library's conversion to JSON and back after the transforms.
func marshal(object any, transforms []func(map[string]any) error) ([]byte, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	var fields map[string]any
	if err := unmarshalNumbers(text, &fields); err != nil {
		return nil, err
	}
	for _, transform := range transforms {
		if err := transform(fields); err != nil {
			return nil, err
		}
	}
	if isPlain(text) {
		return yaml.Marshal(fields)
	}
	return sigsyaml.Marshal(fields)
}

// unmarshalNumbers reads JSON and keeps its numbers as they are written.
func unmarshalNumbers(text []byte, fields *map[string]any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(fields)
}

// isPlain reports whether a round trip of JSON through the library keeps it unchanged: it has no number with an
// exponent or beyond the range of integers, and no character that YAML rejects or reads differently.
func isPlain(text []byte) bool {
	digits, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			// An escaped "\u": of these, only <, > and & are harmless.
			i++
			if text[i] == 'u' && !bytes.HasPrefix(text[i:], []byte("u003c")) && !bytes.HasPrefix(text[i:], []byte("u003e")) &&
				!bytes.HasPrefix(text[i:], []byte("u0026")) {
				return false
			}
		case c == '"':
			quoted, digits = !quoted, 0
		case c == 0x7f, quoted && c >= 0x80 && !isWord(text[i:]):
			return false
		case !quoted && '0' <= c && c <= '9':
			if digits++; digits > 15 {
				return false
			}
		case !quoted && (c == 'e' && digits > 0 || c == 'E'):
			return false
		case !quoted && c != '.':
			digits = 0
		}
	}
	return true
}

// isWord reports whether UTF-8 text begins with a byte of a character from U+00A0 to U+1FFF, or from U+2010 to U+2026:
// letters, and the punctuation of prose.
func isWord(text []byte) bool {
	switch c := text[0]; {
	case c >= 0x80 && c < 0xc0:
		return true // A later byte of a character that was looked at.
	case c == 0xc2:
		return len(text) > 1 && text[1] >= 0xa0
	case c == 0xe2:
		return len(text) > 2 && text[1] == 0x80 && text[2] >= 0x90 && text[2] <= 0xa6
	}
	return text[0] > 0xc2 && text[0] <= 0xe1
}
