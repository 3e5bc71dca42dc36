// Package standin has what a manager or a cache is made of for which a type of a program stands, and that has no API server.
package standin

import (
	"fmt"
	"net/http"
	"reflect"

	"k8s.io/client-go/rest"
)

// Config returns the configuration of an API server that is not there: each request is an error, which names what was asked and the
// stand-in that has no answer of its own.
func Config(standIn any) *rest.Config {
	return &rest.Config{Host: "https://stand-in.invalid", Transport: nowhere{fmt.Sprintf("%T", standIn)}}
}

// nowhere is the way to that server.
type nowhere struct{ standIn string }

// RoundTrip implements http.RoundTripper.
func (n nowhere) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		req.Body.Close()
	}
	return nil, fmt.Errorf("%s stands in for what has an API server, and has none to ask", n.standIn)
}

// IsNil reports whether a stand-in is nothing, or a pointer to nothing, of which what it embeds cannot be asked.
func IsNil(standIn any) bool {
	v := reflect.ValueOf(standIn)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}
