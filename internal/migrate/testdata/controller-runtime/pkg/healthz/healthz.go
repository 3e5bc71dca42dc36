package healthz

import "net/http"

type Checker func(*http.Request) error

type Handler struct{ Checks map[string]Checker }

func (*Handler) ServeHTTP(http.ResponseWriter, *http.Request) {}

type CheckHandler struct{ Checker }

func (CheckHandler) ServeHTTP(http.ResponseWriter, *http.Request) {}

var Ping Checker = func(*http.Request) error { return nil }
