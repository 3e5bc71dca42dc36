package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// frames are streams of watch events, well-formed and not, that the fuzz targets begin with.
var frames = []string{
	"",
	"\n \t\r",
	`{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"a"}}}` + "\n",
	`{"type":"ADDED","object":{}}{"type":"DELETED","object":{}}` + "\r\n" + `{"type":"BOOKMARK","object":{"a":[{},[[]],"}"]}}`,
	`{"type":"MODIFIED","object":{"a":"\"}\\","b":"\\\\","c":"{[\u005d"}}`,
	`{"object":{"a":1},"type":"ADDED"}`,
	`{ "type" : "ADDED" , "object" : { } , "more" : [ 1.5e3 , null , true ] }`,
	`{"\u0074ype":"ADDED","object":{}}`,
	`{"type":"A","type":"B","object":{}}`,
	`{"type":"A","object":{},"object":{}}`,
	`{"type":7,"object":{}}`,
	`{"type":null}`,
	`{"type":"ADDED","object":null}`,
	`{"type":"ADDED","object":tru}`,
	`{"type":"ADDED","object":{}},`,
	`{"type":"ADDED","object":{}`,
	`{"type":"ADDED","object":"open`,
	`{"type":"ADDED","object":{]}`,
	`{"type":"ADDED","object":{},}`,
	`{"type":"ADDED""object":{}}`,
	`{"type":"ADDED","more":[}],"object":{}}`,
	`{,}`, `{]`, `{}`, `[]`, `}`, `"`, `7`, `nul`, "{\"type\":\"\x01\"}", "{\"type\":\"\xff\"}", "\xef\xbb\xbf{}",
}

// objectsIn returns the JSON objects at the beginning of data, and whether there is nothing else in it.
func objectsIn(data []byte) (objects [][]byte, clean bool) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if err != nil || raw[0] != '{' {
			return objects, err == io.EOF
		}
		objects = append(objects, raw)
	}
}

// FuzzFrames says: whatever the stream and however it is cut, the reader returns each well-formed object that comes
// before the first malformed one, it ends, and it ends with io.EOF only when all of the stream was well-formed.
func FuzzFrames(f *testing.F) {
	for _, data := range frames {
		f.Add([]byte(data), uint8(0))
		f.Add([]byte(data), uint8(7))
	}
	f.Fuzz(func(t *testing.T, data []byte, chunk uint8) {
		want, clean := objectsIn(data)
		reader := frameReader{body: &chunks{data: data, size: int(chunk)}}
		for i, object := range want {
			if frame, err := reader.next(); err != nil || !bytes.Equal(frame, object) {
				t.Fatalf("frame %d: got %q, %v, want %q", i, frame, err, object)
			}
		}
		frame, err := reader.next()
		switch {
		case clean != (err == io.EOF):
			t.Fatalf("after the last object: got %q, %v", frame, err)
		case err == nil && json.Valid(frame):
			t.Fatalf("%q comes from nowhere", frame)
		}
		for err == nil {
			_, err = reader.next()
		}
	})
}

// chunks is a body that is read in pieces of a size; 0 is all at once, and its end with it.
type chunks struct {
	data []byte
	size int
}

func (c *chunks) Read(p []byte) (int, error) {
	n := len(p)
	if c.size > 0 {
		n = min(n, c.size)
	}
	n = copy(p[:n], c.data)
	c.data = c.data[n:]
	if len(c.data) == 0 && (c.size == 0 || n == 0) {
		return n, io.EOF
	}
	return n, nil
}

// FuzzSplitEvent says: a well-formed event is taken apart as encoding/json would, and one that is accepted is well-formed
// if its object is.
func FuzzSplitEvent(f *testing.F) {
	for _, data := range frames {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		eventType, raw, err := splitEvent(data)
		if err == nil && (raw == nil || json.Valid(raw)) && !json.Valid(data) {
			t.Fatalf("%q is accepted as %q of %q", data, eventType, raw)
		}
		wantType, wantRaw, ok := splitByJSON(data)
		if !ok {
			if err == nil && json.Valid(data) {
				t.Fatalf("%q is accepted as %q of %q", data, eventType, raw)
			}
			return
		}
		if err != nil || eventType != wantType || !bytes.Equal(raw, wantRaw) {
			t.Fatalf("got %q of %q, %v; want %q of %q", eventType, raw, err, wantType, wantRaw)
		}
	})
}

// splitByJSON is splitEvent by encoding/json.
func splitByJSON(data []byte) (eventType string, raw []byte, ok bool) {
	if !json.Valid(data) {
		return "", nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return "", nil, false
	}
	for decoder.More() {
		name, err := decoder.Token()
		var value json.RawMessage
		if err != nil || decoder.Decode(&value) != nil {
			return "", nil, false
		}
		switch {
		case name == "type" && (eventType != "" || value[0] != '"' || json.Unmarshal(value, &eventType) != nil):
			return "", nil, false
		case name == "object" && raw != nil:
			return "", nil, false
		case name == "object":
			raw = value
		}
	}
	return eventType, raw, true
}

func TestFrameIsAsLongAsAllowedAndNotLonger(t *testing.T) {
	long := func(size int) io.Reader {
		return io.MultiReader(strings.NewReader(`{"a":"`), strings.NewReader(strings.Repeat("x", size-8)), strings.NewReader(`"}`), strings.NewReader(` {}`))
	}
	reader := frameReader{body: long(maxFrame)}
	if frame, err := reader.next(); len(frame) != maxFrame || err != nil {
		t.Errorf("got %d bytes, %v", len(frame), err)
	}
	if frame, err := reader.next(); string(frame) != "{}" || err != nil {
		t.Errorf("got %q, %v", frame, err)
	}
	if _, err := reader.next(); err != io.EOF {
		t.Errorf("got %v", err)
	}
	if cap(reader.buf) > keepBuffer {
		t.Errorf("a buffer of %d bytes is kept", cap(reader.buf))
	}
	reader = frameReader{body: long(maxFrame + 1)}
	if _, err := reader.next(); !errors.Is(err, errBadFrame) {
		t.Errorf("got %v", err)
	}
}

func TestFramesBeforeTheFailureOfTheBodyAreReturned(t *testing.T) {
	failure := errors.New("reset")
	body := io.MultiReader(strings.NewReader(`{"a":1}{"b"`), iotest.ErrReader(failure))
	reader := frameReader{body: iotest.DataErrReader(body)}
	if frame, err := reader.next(); string(frame) != `{"a":1}` || err != nil {
		t.Errorf("got %q, %v", frame, err)
	}
	for range 2 {
		if _, err := reader.next(); err != failure {
			t.Errorf("got %v", err)
		}
	}
}

func TestStreamThatEndsWithinAFrameIsTruncated(t *testing.T) {
	for data, want := range map[string]error{`{"a":`: io.ErrUnexpectedEOF, `{}` + "\n": io.EOF, `{} {`: io.ErrUnexpectedEOF, `{"}`: io.ErrUnexpectedEOF} {
		reader := frameReader{body: strings.NewReader(data)}
		_, err := reader.next()
		for err == nil {
			_, err = reader.next()
		}
		if err != want {
			t.Errorf("%s: got %v", data, err)
		}
	}
}
