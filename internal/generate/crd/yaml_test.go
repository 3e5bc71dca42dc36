package crd

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	sigsyaml "sigs.k8s.io/yaml"
)

// library marshals JSON as controller-tools does. It reports false if the JSON is not an object.
func library(text []byte) (out string, isObject bool, err error) {
	var fields map[string]any
	if err := unmarshalNumbers(text, &fields); err != nil || fields == nil || !json.Valid(text) {
		return "", false, nil
	}
	content, err := sigsyaml.Marshal(fields)
	return string(content), true, err
}

func FuzzMarshal(f *testing.F) {
	for _, seed := range []string{
		`{"a":1,"b":-0,"c":1.0,"d":1e3,"e":0.1,"f":18446744073709551615,"g":9007199254740993,"h":1E3,"i":-1.5e-7}`,
		`{"text":"a: b","more":"# x","yes":"yes","no":"no","null":"null","empty":"","date":"2001-01-01","octal":"0777","base":"1:20"}`,
		`{"lines":"one\ntwo\n","indent":"  one\ntwo","tab":"a\tb","trail":"a \nb ","quote":"it's \"q\"","html":"<a & b>"}`,
		`{"long":"` +
			`words of a description that goes on and on until it is longer than the eighty columns that a line may have, and then some more` + `"}`,
		`{"nested":{"a":[1,2,{"b":[]},{}],"c":null,"d":true,"e":[[1],[]]}}`,
		"{\"unicode\":\"ä – “x” … 漢 \U0001f600\",\"nel\":\"a\u0085b\",\"bom\":\"\ufeff\",\"ls\":\"a\u2028b\",\"del\":\"\u007f\",\"c1\":\"\u0080\"}",
		`{"control":"\u0000\u001b","y":1,"12":"x","1.5":2,"~":3,"<<":4,"=":"="}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		want, isObject, wantErr := library(text)
		if !isObject {
			return
		}
		got, err := marshal(json.RawMessage(text), nil)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("got error %v, the library has %v", err, wantErr)
		}
		if diff := cmp.Diff(want, string(got)); err == nil && diff != "" {
			t.Error(diff)
		}
	})
}

func TestOrdinaryDocumentsArePlain(t *testing.T) {
	for text, want := range map[string]bool{
		`{"description":"Size is how large it is – in \"bytes\".\nIt is <= 5 & more…","minimum":1,"maximum":-2147483648}`: true,
		`{"é":0.5}`:                   true,
		`{"n":1e3}`:                   false,
		`{"n":1234567890123456}`:      false,
		`{"s":"1234567890123456e9"}`:  true,
		"{\"s\":\"\u0085\"}":          false,
		"{\"s\":\"\u007f\"}":          false,
		`{"s":"\u2028"}`:              false,
		`{"s":"\\u2028"}`:             true,
		"{\"s\":\"\ufeff\"}":          false,
		`{"s":"\u003ca\u003e\u0026"}`: true,
	} {
		if got := isPlain([]byte(text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
