package figure

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func TestExpiredWatchEndsWithExpiredEvent(t *testing.T) {
	client, server := io.Pipe()
	e := &expiry{listed: make(chan struct{}, 1), next: transport(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: client}, nil
	})}
	request, err := http.NewRequest(http.MethodGet, "http://in.memory/widgets?watch=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := e.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = io.WriteString(server, "event\n")
		_ = e.expire()
	}()
	body, err := io.ReadAll(iotest.OneByteReader(response.Body))
	if err != nil || string(body) != "event\n"+expired {
		t.Errorf("the watch returned %q, %v", body, err)
	}
}

func TestInitialEndIsFoundAcrossReads(t *testing.T) {
	text := "event\n{" + initialEnd + ":true}\nevent\n"
	for cut := range text {
		listed := make(chan struct{}, 1)
		b := &watchBody{listed: listed}
		b.look([]byte(text[:cut]))
		b.look([]byte(text[cut:]))
		if len(listed) != 1 {
			t.Errorf("not found when cut after %q", text[:cut])
		}
	}
	listed := make(chan struct{}, 1)
	body := &watchBody{listed: listed, ReadCloser: io.NopCloser(iotest.OneByteReader(strings.NewReader(text)))}
	if _, err := io.ReadAll(body); err != nil || len(listed) != 1 {
		t.Errorf("not found byte by byte: %v", err)
	}
}
