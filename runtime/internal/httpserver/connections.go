package httpserver

import (
	"cmp"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// patient is how long a client may be awaited before it counts as slow. A client that is not slow needs a fraction of that for
// a handshake and a request.
const patient = time.Second

// connections bounds the connections of a server. When one more comes, it closes the one whose client has been awaited
// longest: for the handshake, for the rest of a request, or until it has read its answer. Without a slow client that is the
// connection that has been idle longest. Connections whose handlers work are never closed for others.
type connections struct {
	limit int
	full  func(address string) // called for each connection that is closed for another one, without a lock

	mu  sync.Mutex
	all map[net.Conn]*connection
}

// connection is one of the connections. Its fields are guarded by their mutex.
type connection struct {
	of       *connections
	conn     net.Conn
	handlers int  // that have not returned; several only with HTTP/2
	awaiting int  // of them, for their client
	isIdle   bool // between two requests
	phase    phase
	since    time.Time // when the phase began
}

// phase is what a connection waits for.
type phase int

const (
	awaited phase = iota // the client: a handshake, the rest of a request, or that it reads its answer
	idle                 // the next request
	working              // its handlers
)

type connectionKey struct{}

// accept notes a new connection, as an http.Server.ConnContext does, and makes room for it.
func (c *connections) accept(ctx context.Context, conn net.Conn) context.Context {
	added := &connection{of: c, conn: conn, since: time.Now()}
	c.mu.Lock()
	if c.all == nil {
		c.all = map[net.Conn]*connection{}
	}
	var closing *connection
	if len(c.all) >= c.limit {
		closing = cmp.Or(c.victimLocked(), added)
	}
	c.all[conn] = added
	if closing != nil {
		delete(c.all, closing.conn)
	}
	c.mu.Unlock()
	if closing != nil {
		c.full(closing.conn.RemoteAddr().String())
		closing.close()
	}
	return context.WithValue(ctx, connectionKey{}, added)
}

// victimLocked returns the connection that has to go for another one, or nil if the handlers of all work.
func (c *connections) victimLocked() *connection {
	var oldest [working]*connection
	for _, one := range c.all {
		if one.phase == working {
			continue
		}
		if o := oldest[one.phase]; o == nil || one.since.Before(o.since) {
			oldest[one.phase] = one
		}
	}
	if slow := oldest[awaited]; slow != nil && time.Since(slow.since) >= patient {
		return slow
	}
	return cmp.Or(oldest[idle], oldest[awaited])
}

// close closes the connection below TLS, whose own Close writes to a client that may not read.
func (c *connection) close() {
	if secure, ok := c.conn.(*tls.Conn); ok {
		secure.NetConn().Close()
		return
	}
	c.conn.Close()
}

// note follows the state of a connection, as an http.Server.ConnState does.
func (c *connections) note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.all[conn]
	switch {
	case known == nil:
	case state == http.StateHijacked || state == http.StateClosed:
		delete(c.all, conn)
	default:
		known.isIdle = state == http.StateIdle
		known.enterLocked()
	}
}

// enterLocked begins the phase that the connection is in by now, unless it has.
func (c *connection) enterLocked() {
	now := awaited
	switch {
	case c.handlers > 0 && c.awaiting == 0:
		now = working
	case c.handlers == 0 && c.isIdle:
		now = idle
	}
	if now != c.phase {
		c.phase, c.since = now, time.Now()
	}
}

// count adds to the handlers of the connection, and to those that await their client.
func (c *connection) count(handlers, awaiting int) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.handlers += handlers
	c.awaiting += awaiting
	c.enterLocked()
}

// busy returns the addresses of the clients whose connections are not idle.
func (c *connections) busy() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var addresses []string
	for conn, known := range c.all {
		if !known.isIdle {
			addresses = append(addresses, conn.RemoteAddr().String())
		}
	}
	slices.Sort(addresses)
	return addresses
}

// handler calls next and notes when it awaits its client. Bodies may have maxBody bytes, if that is positive.
func (c *connections) handler(next http.Handler, maxBody int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		of, _ := r.Context().Value(connectionKey{}).(*connection)
		if of == nil { // it did not come by a connection of this server
			next.ServeHTTP(w, r)
			return
		}
		of.count(1, 0)
		defer of.count(-1, 0)
		r = r.WithContext(r.Context())
		if maxBody > 0 {
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		}
		r.Body = &body{r.Body, of}
		next.ServeHTTP(&writer{w, of}, r)
	})
}

// body is the body of a request, whose client is awaited by those who read it.
type body struct {
	io.ReadCloser
	of *connection
}

func (b *body) Read(p []byte) (int, error) {
	b.of.count(0, 1)
	defer b.of.count(0, -1)
	return b.ReadCloser.Read(p)
}

// writer is an answer, whose client is awaited by those who write it.
type writer struct {
	http.ResponseWriter
	of *connection
}

func (w *writer) Write(p []byte) (int, error) {
	w.of.count(0, 1)
	defer w.of.count(0, -1)
	return w.ResponseWriter.Write(p)
}

// WriteString implements io.StringWriter.
func (w *writer) WriteString(text string) (int, error) {
	w.of.count(0, 1)
	defer w.of.count(0, -1)
	return io.WriteString(w.ResponseWriter, text)
}

// Flush implements http.Flusher.
func (w *writer) Flush() { _ = w.FlushError() }

// FlushError is what an http.ResponseController flushes by.
func (w *writer) FlushError() error {
	w.of.count(0, 1)
	defer w.of.count(0, -1)
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
