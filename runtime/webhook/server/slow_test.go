package server_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// soon is the time limit for an answer while slow clients are connected. It is much shorter than the timeouts of those
// clients.
const soon = 8 * time.Second

// dial connects a client that sends text and then nothing until the test ends.
func dial(t *testing.T, url, text string) net.Conn {
	t.Helper()
	conn, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

// answersSoon fails the test unless the server answers a request within the time soon.
func answersSoon(t *testing.T, url, body string) {
	t.Helper()
	c := client(t, &tls.Config{})
	c.Timeout = soon
	resp, err := c.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK || string(text) != body || err != nil {
		t.Errorf("answered %s %q, %v", resp.Status, text, err)
	}
}

// TestSlowBodyTakesNoSlot connects more slow clients than requests may wait. Each sends a header and one byte of the
// body.
func TestSlowBodyTakesNoSlot(t *testing.T) {
	url, _ := start(t, server.Options{MaxInFlight: 1}, map[string]http.HandlerFunc{"/a": echo})
	for range 20 {
		dial(t, url, "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n1")
	}
	answersSoon(t, url+"/a", "good")
}

// TestSlowReaderOfAnAnswerTakesNoSlot connects more slow clients than requests may wait. None of them reads its long
// answer.
func TestSlowReaderOfAnAnswerTakesNoSlot(t *testing.T) {
	long := strings.Repeat("a", 16<<20)
	begun := make(chan struct{}, 20)
	url, _ := start(t, server.Options{MaxInFlight: 1}, map[string]http.HandlerFunc{
		"/long": func(w http.ResponseWriter, _ *http.Request) {
			begun <- struct{}{}
			io.WriteString(w, long)
		},
		"/a": echo,
	})
	for range 15 {
		dial(t, url, "POST /long HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
		select {
		case <-begun:
		case <-time.After(soon):
			t.Fatal("a client that does not read its answer keeps another one from being served")
		}
	}
	answersSoon(t, url+"/a", "good")
}

// TestSlowClientsLoseTheirConnectionsToOthers opens more connections than the server allows. On all of them, the server
// waits for the client: for its handshake, its header or its body.
func TestSlowClientsLoseTheirConnectionsToOthers(t *testing.T) {
	url, _ := start(t, server.Options{MaxInFlight: 1}, map[string]http.HandlerFunc{"/a": echo})
	address := strings.TrimPrefix(url, "https://")
	raw, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	firsts := []net.Conn{
		raw,
		dial(t, url, "POST /a HTTP/1.1\r\nHo"),
		dial(t, url, "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n1"),
		dial(t, url, "POST /nothing HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n1"),
	}
	answersSoon(t, url+"/a", "good") // then the server waits for the other clients
	for range 500 {                  // 1 handled, 10 waiting and 256 more connections are allowed
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	for i, conn := range firsts {
		if err := conn.SetReadDeadline(time.Now().Add(soon)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("client %d is connected still", i)
		}
	}
	answersSoon(t, url+"/a", "good")
}
