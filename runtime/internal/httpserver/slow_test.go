package httpserver

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// soon is the time limit for an answer while slow clients are connected. It is much shorter than the timeouts of those
// clients.
const soon = 8 * time.Second

// serve runs a server with an operator's default bounds until the test ends, and returns its address.
func serve(t *testing.T, opts Options) string {
	t.Helper()
	opts.Name, opts.Address, opts.Logger = "test", "127.0.0.1:0", slog.New(slog.NewTextHandler(t.Output(), nil))
	s := New(opts)
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return s.Addr().String()
}

// dial connects a client that sends text and then nothing until the test ends.
func dial(t *testing.T, address, text string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

// isCutOff reports whether the server closes a connection within the time soon.
func isCutOff(t *testing.T, conn net.Conn) bool {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(soon)); err != nil {
		t.Fatal(err)
	}
	_, err := io.Copy(io.Discard, conn)
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

// TestSlowClientsLoseTheirConnectionsToOthers opens more connections than a server of metrics or probes allows.
func TestSlowClientsLoseTheirConnectionsToOthers(t *testing.T) {
	long, begun := make([]byte, 16<<20), make(chan struct{}, 10)
	address := serve(t, Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		if r.URL.Path == "/long" {
			w.Write(long)
		}
	})})
	first := []net.Conn{
		dial(t, address, ""),
		dial(t, address, "GET /metrics HTT"),
		dial(t, address, "GET /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n1"),
		dial(t, address, "GET /long HTTP/1.1\r\nHost: a\r\n\r\n"),
	}
	<-begun
	<-begun
	for range maxConnections + 100 {
		dial(t, address, "GET /metrics HTT")
	}
	for i, conn := range first {
		if !isCutOff(t, conn) {
			t.Errorf("client %d is connected still", i)
		}
	}
	client := &http.Client{Timeout: soon, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	resp, err := client.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

func TestBodyIsBoundedWhereNoneIsWanted(t *testing.T) {
	read := make(chan int, 1)
	address := serve(t, Options{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		read <- len(body)
	})})
	client := &http.Client{Timeout: soon, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	resp, err := client.Post("http://"+address, "text/plain", strings.NewReader(strings.Repeat("a", 1<<20)))
	if err == nil {
		resp.Body.Close()
	}
	if n := <-read; n != maxBody {
		t.Errorf("a handler read %d bytes, want %d", n, maxBody)
	}
}

// clients contains a server's connections in virtual time.
type clients struct {
	*connections
	closed []string
}

// fake is a connection without a network. It records when it is closed.
type fake struct {
	net.Conn
	name string
	to   *clients
}

func (f *fake) Close() error {
	f.to.closed = append(f.to.closed, f.name)
	return nil
}

func (f *fake) RemoteAddr() net.Addr { return &net.UnixAddr{Name: f.name} }

func (c *clients) connect(name string) *fake {
	f := &fake{name: name, to: c}
	c.accept(context.Background(), f)
	c.note(f, http.StateNew)
	return f
}

func (c *clients) expect(t *testing.T, what string, want ...string) {
	t.Helper()
	if got := strings.Join(c.closed, " "); got != strings.Join(want, " ") {
		t.Errorf("%s: closed %q, want %q", what, got, want)
	}
	c.closed = nil
}

func TestConnectionThatGoesIsTheSlowestOrTheLongestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clients{connections: &connections{limit: 3, full: func(string) {}}}
		idle, busy := c.connect("idle"), c.connect("busy")
		c.all[busy].count(1, 0)
		<-time.After(time.Millisecond)
		slow := c.connect("slow")
		c.note(idle, http.StateIdle)
		<-time.After(time.Millisecond)
		c.connect("a")
		c.expect(t, "the others have just come", "idle")
		<-time.After(2 * time.Second)
		b := c.connect("b")
		c.expect(t, "of two slow ones", "slow")
		c.note(slow, http.StateClosed) // the server does this once it notices the close
		later := c.connect("c")
		c.expect(t, "of a slow one and one that has just come", "a")
		<-time.After(time.Second)
		c.note(b, http.StateClosed)
		c.note(later, http.StateClosed)
		c.all[busy].count(0, 1) // the client reads the answer
		<-time.After(time.Second)
		c.connect("d")
		c.connect("e")
		c.connect("f")
		c.expect(t, "one that reads its answer", "busy")
	})
}

func TestConnectionIsRefusedWhileAllHandlersWork(t *testing.T) {
	c := &clients{connections: &connections{limit: 1, full: func(string) {}}}
	c.connect("a")
	for _, known := range c.all {
		known.count(1, 0)
	}
	b := c.connect("b")
	c.expect(t, "a new one", "b")
	if _, known := c.all[b]; known || len(c.all) != 1 {
		t.Errorf("%d connections", len(c.all))
	}
}

// TestStopOfAServerNamesNoIdleClients checks that the log line about the clients cut off at the stop does not contain
// idle clients.
func TestStopOfAServerNamesNoIdleClients(t *testing.T) {
	c := &clients{connections: &connections{limit: 9, full: func(string) {}}}
	c.note(c.connect("idle"), http.StateIdle)
	c.connect("b")
	c.note(c.connect("a"), http.StateActive)
	c.note(c.connect("gone"), http.StateClosed)
	if got := strings.Join(c.busy(), " "); got != "a b" {
		t.Errorf("got %q", got)
	}
}
