package client_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
)

// wireServer answers each request with the bytes of answer, on a separate in-memory connection.
type wireServer struct {
	mu     sync.Mutex
	answer []byte
}

func (s *wireServer) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	s.mu.Lock()
	answer := s.answer
	s.mu.Unlock()
	go func() { // ends with near, which the transport closes
		defer far.Close()
		_, _ = far.Read(make([]byte, 64<<10))
		_, _ = far.Write(answer)
	}()
	return near, nil
}

// framings returns an answer in each encoding that marks its end in another way: HTTP/1.1 with a length, in chunks or
// compressed, and HTTP/1.0, where the end of the connection ends the answer.
func framings(contentType string, body []byte) map[string][]byte {
	chunked := func(data []byte) (b []byte) {
		for _, part := range [][]byte{data[:len(data)/3], data[len(data)/3:]} {
			b = fmt.Appendf(b, "%x\r\n%s\r\n", len(part), part)
		}
		return append(b, "0\r\n\r\n"...)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write(body)
	_ = z.Close()
	head := "200 OK\r\nContent-Type: " + contentType + "\r\n"
	return map[string][]byte{
		"length": fmt.Appendf(nil, "HTTP/1.1 %sContent-Length: %d\r\n\r\n%s", head, len(body), body),
		"chunks": fmt.Appendf(nil, "HTTP/1.1 %sTransfer-Encoding: chunked\r\n\r\n%s", head, chunked(body)),
		"compressed": fmt.Appendf(nil, "HTTP/1.1 %sContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", head,
			zipped.Len(), zipped.Bytes()),
		"compressed, chunks": fmt.Appendf(nil, "HTTP/1.1 %sContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n%s",
			head, chunked(zipped.Bytes())),
		"old":                 fmt.Appendf(nil, "HTTP/1.0 %s\r\n%s", head, body),
		"old, and compressed": fmt.Appendf(nil, "HTTP/1.0 %sContent-Encoding: gzip\r\n\r\n%s", head, zipped.Bytes()),
	}
}

// formatsOf returns the encoding of obj in each format.
func formatsOf(t *testing.T, obj runtime.Object) map[string][]byte {
	scheme := newScheme(t)
	plain, err := json.Marshal(obj)
	ok(t, err)
	bodies := map[string][]byte{"application/json": plain, "application/json; charset=UTF-8": append([]byte("\r\n "),
		append(plain, " \r\n\t"...)...)}
	var b bytes.Buffer
	ok(t, protobuf.NewSerializer(scheme, scheme).Encode(obj, &b))
	bodies["application/vnd.kubernetes.protobuf"] = b.Bytes()
	return bodies
}

// TestTruncatedAnswerIsNeverAValidOne cuts answers at each byte, starting in the status line. The client must return
// the whole answer or an error.
func TestTruncatedAnswerIsNeverAValidOne(t *testing.T) {
	one := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default", UID: "u", ResourceVersion: "7"},
		Data: map[string]string{"x": "y \"é\" 1"}}
	two := *one.DeepCopy()
	two.Name = "b"
	list := &corev1.ConfigMapList{TypeMeta: metav1.TypeMeta{Kind: "ConfigMapList", APIVersion: "v1"},
		ListMeta: metav1.ListMeta{ResourceVersion: "9"}, Items: []corev1.ConfigMap{one, two}}
	one.TypeMeta = metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"}

	s := &wireServer{}
	mapper := connect(t, newServer(), client.Options{}).RESTMapper()
	c, err := client.New(&rest.Config{Host: "http://server"}, client.Options{
		Scheme: newScheme(t), Mapper: mapper, Logger: slog.New(slog.DiscardHandler),
		HTTPClient: &http.Client{Transport: &http.Transport{DialContext: s.dial, DisableKeepAlives: true}},
	})
	ok(t, err)
	lw, err := client.NewListWatcher(c, &corev1.ConfigMap{},
		client.Scope{Formats: []client.Format{client.Protobuf, client.JSON}})
	ok(t, err)
	calls := map[string]struct {
		sends    runtime.Object
		anything bool // accepts all formats, not only JSON
		call     func() (any, error)
	}{
		"get":    {&one, false, func() (any, error) { got := configMap(""); return got, c.Get(t.Context(), keyA, got) }},
		"list":   {list, false, func() (any, error) { got := &corev1.ConfigMapList{}; return got, c.List(t.Context(), got) }},
		"page":   {list, true, func() (any, error) { return lw.List(t.Context(), metav1.ListOptions{}) }},
		"update": {&one, false, func() (any, error) { got := one.DeepCopy(); return got, c.Update(t.Context(), got) }},
	}
	for what, call := range calls {
		for contentType, body := range formatsOf(t, call.sends) {
			if !call.anything && !strings.HasPrefix(contentType, "application/json") {
				continue
			}
			for how, answer := range framings(contentType, body) {
				s.answer = answer
				want, err := call.call()
				if err != nil {
					t.Errorf("%s, %s, %s: %v", what, contentType, how, err)
					continue
				}
				for n := range answer {
					s.mu.Lock()
					s.answer = answer[:n]
					s.mu.Unlock()
					got, err := call.call()
					if err == nil && !reflect.DeepEqual(got, want) {
						t.Errorf("%s, %s, %s: cut behind %d of %d: got %v", what, contentType, how, n, len(answer), got)
					}
					if err == nil && strings.HasPrefix(how, "length") {
						t.Errorf("%s, %s, %s: cut behind %d of %d: no error", what, contentType, how, n, len(answer))
					}
				}
			}
		}
	}
}

// TestCutWatchDeliversNothingElse cuts a watch at each byte. The delivered events must be a prefix of the events that
// were sent.
func TestCutWatchDeliversNothingElse(t *testing.T) {
	event := func(kind, name string) string {
		return fmt.Sprintf(`{"type":%q,"object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":%q,"resourceVersion":"7"}}}`+"\n", kind, name)
	}
	body := event("ADDED", "a") + event("MODIFIED", "b") + event("DELETED", "c")
	s := &wireServer{}
	c, err := client.New(&rest.Config{Host: "http://server"}, client.Options{
		Scheme: newScheme(t), Mapper: connect(t, newServer(), client.Options{}).RESTMapper(),
		Logger:     slog.New(slog.DiscardHandler),
		HTTPClient: &http.Client{Transport: &http.Transport{DialContext: s.dial, DisableKeepAlives: true}},
	})
	ok(t, err)
	names := func(answer []byte) (names string, err error) {
		s.mu.Lock()
		s.answer = answer
		s.mu.Unlock()
		stream, err := c.Watch(t.Context(), &corev1.ConfigMapList{})
		if err != nil {
			return "", err
		}
		defer stream.Close()
		for {
			e, err := stream.Next()
			if err != nil {
				return names, err
			}
			names += e.Object.GetName()
		}
	}
	for how, answer := range framings("application/json;stream=watch", []byte(body)) {
		if strings.Contains(how, "compressed") { // a watch does not accept it
			continue
		}
		if all, err := names(answer); all != "abc" || err != io.EOF {
			t.Errorf("%s: got %s, %v", how, all, err)
		}
		for n := range answer {
			got, err := names(answer[:n])
			if !strings.HasPrefix("abc", got) || err == nil {
				t.Errorf("%s: cut behind %d: got %s, %v", how, n, got, err)
			}
			if _, malformed := errors.AsType[*client.DecodeError](err); malformed {
				t.Errorf("%s: cut behind %d: got %v", how, n, err)
			}
		}
	}
}
