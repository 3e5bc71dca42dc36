package crd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v2"
	"sigs.k8s.io/controller-tools/pkg/genall"
	sigsyaml "sigs.k8s.io/yaml"
)

// writeYAML does what ctx.WriteYAML does, with transforms that are plain functions, and spares most documents the way
// through JSON and back that the library takes after the transforms.
func writeYAML(ctx genall.GenerationContext, name, header string, object any, transforms ...func(map[string]any) error) error {
	content, err := marshal(object, transforms)
	if err != nil {
		return err
	}
	out, err := ctx.Open(nil, name)
	if err != nil {
		return err
	}
	_, err = out.Write(append([]byte(header+"---\n"), content...))
	return errors.Join(err, out.Close())
}

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

// isPlain reports whether JSON has nothing that the way through it and back would change: no number with an exponent or
// so long that it may not fit an integer, and no character that YAML refuses or reads differently.
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
