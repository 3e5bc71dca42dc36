package wire

import (
	"encoding/json"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// unnamed is a kind with structs that have no name, and methods by what is embedded in them. The codec calls these where
// it has a pointer to such a struct, and nowhere else.
type unnamed struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Plain struct {
		Spelled
		More int `json:"more"`
	} `json:"plain"`
	Pointer *struct {
		Spelled
		More int `json:"more"`
	} `json:"pointer"`
	Twice **struct{ Spelled } `json:"twice"`
	Text  struct {
		Lettered
		More int `json:"more"`
	} `json:"text"`
	TextPointer *struct{ Lettered }            `json:"textPointer"`
	List        []struct{ Spelled }            `json:"list"`
	Pointers    []*struct{ Spelled }           `json:"pointers"`
	Array       [2]struct{ Spelled }           `json:"array"`
	Map         map[string]struct{ Spelled }   `json:"map"`
	PointersOf  map[string]*struct{ Lettered } `json:"pointersOf"`
	Odd         struct {
		*Pointed
		Spelled
		Quoted int `json:"quoted,string"`
	} `json:"odd"`
	OddPointer *struct {
		*Pointed
		Spelled
	} `json:"oddPointer"`
	Deep struct{ In struct{ Spelled } } `json:"deep"`
}

func (u *unnamed) DeepCopyObject() runtime.Object { c := *u; return &c }

// Spelled decodes itself from JSON.
type Spelled struct {
	Word string `json:"word"`
	By   string `json:"-"`
}

// UnmarshalJSON takes anything but true.
func (s *Spelled) UnmarshalJSON(data []byte) error {
	if string(data) == "true" {
		return errors.New("true is no word")
	}
	s.By = "itself: " + string(data)
	return nil
}

// Lettered decodes itself from text.
type Lettered struct {
	Word string `json:"word"`
	By   string `json:"-"`
}

// UnmarshalText takes anything.
func (l *Lettered) UnmarshalText(data []byte) error {
	l.By = "itself: " + string(data)
	return nil
}

func TestStructsWithoutANameAreDecodedAsByTheCodec(t *testing.T) {
	d := decoderOf(t, &unnamed{}, Options{KeepManagedFields: true})
	values := []string{`{"word":"a"}`, `{"word":"a","more":3,"By":"x","WORD":"b"}`, `{}`, `null`, `true`, `7`, `"text"`, `[]`, `[{"word":"a"}]`,
		`[null,{"word":"b","quoted":"7"}]`, `{"a":{"word":"a"},"b":null}`, `{"pointed":"p","quoted":"7","word":"w"}`, `{"In":{"word":"w"}}`, `{"word":7}`, `{"word":`}
	names := []string{"plain", "pointer", "twice", "text", "textPointer", "list", "pointers", "array", "map", "pointersOf", "odd", "oddPointer", "deep"}
	for _, name := range names {
		for _, value := range values {
			compare(t, d, &unnamed{}, []byte(`{"`+name+`":`+value+`}`))
			for _, again := range values {
				compare(t, d, &unnamed{}, []byte(`{"`+name+`":`+value+`,"`+name+`":`+again+`}`))
			}
		}
	}
}

func TestMaskDoesNotReachIntoWhatDecodesItself(t *testing.T) {
	for path, ok := range map[string]bool{"plain.more": true, "deep.In.word": true, "list.word": true, "pointer.more": false, "odd.word": false, "twice.word": false} {
		if _, err := NewDecoder(&unnamed{}, Options{Mask: []string{path}}); (err == nil) != ok {
			t.Errorf("%s: got %v", path, err)
		}
	}
	var _ json.Unmarshaler = &struct{ Spelled }{}
}
