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

// patient is the wait after which a client counts as slow. Others need a fraction of it for handshake and request.
const patient = time.Second

// connections limits the number of connections. To accept one more, it closes the connection that has waited longest
// for its client, which may owe the handshake or a request, or be reading the answer. If no client is slow, it closes
// the connection that was idle longest. It never closes a connection whose handlers are working.
type connections struct {
	limit int
	full  func(address string) // called without a lock for each connection closed to make room

	mu  sync.Mutex
	all map[net.Conn]*connection
}

// connection is one of the connections, whose mutex guards its fields.
type connection struct {
	of       *connections
	conn     net.Conn
	handlers int  // handlers that have not returned; several only with HTTP/2
	awaiting int  // handlers that wait for their client
	isIdle   bool // between two requests
	phase    phase
	since    time.Time // beginning of the phase
}

// phase is the party that a connection waits for.
type phase int

const (
	awaited phase = iota // the client: the handshake, the rest of a request, or reading the answer
	idle                 // the next request
	working              // the handlers
)

type connectionKey struct{}

// accept adds a new connection and makes room for it. It is an http.Server.ConnContext.
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

// victimLocked returns the connection to close to make room, or nil if the handlers of all connections are working.
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

// close closes the connection below TLS, because the Close method of TLS writes to the client, which may not read.
func (c *connection) close() {
	if secure, ok := c.conn.(*tls.Conn); ok {
		secure.NetConn().Close()
		return
	}
	c.conn.Close()
}

// note records the state of a connection. It is an http.Server.ConnState.
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

// count adds to the numbers of handlers, and of handlers that wait for their client.
func (c *connection) count(handlers, awaiting int) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.handlers += handlers
	c.awaiting += awaiting
	c.enterLocked()
}

// busy returns the client addresses of connections that are not idle.
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

// handler calls next and records when it waits for its client. A positive maxBody limits the size of bodies.
func (c *connections) handler(next http.Handler, maxBody int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		of, _ := r.Context().Value(connectionKey{}).(*connection)
		if of == nil { // the request did not arrive over a connection of this server
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

// body is the body of a request. Its readers wait for the client.
type body struct {
	io.ReadCloser
	of *connection
}

func (b *body) Read(p []byte) (int, error) {
	b.of.count(0, 1)
	defer b.of.count(0, -1)
	return b.ReadCloser.Read(p)
}

// writer writes an answer. Its writers wait for the client.
type writer struct {
	http.ResponseWriter
	of *connection
}

func (w *writer) Write(p []byte) (int, error) {
	w.of.count(0, 1)
	defer w.of.count(0, -1)
	return w.ResponseWriter.Write(p)
}

func (w *writer) WriteString(text string) (int, error) {
	w.of.count(0, 1)
	defer w.of.count(0, -1)
	return io.WriteString(w.ResponseWriter, text)
}

func (w *writer) Flush() { _ = w.FlushError() }

// FlushError implements the flush of http.ResponseController.
func (w *writer) FlushError() error {
	w.of.count(0, 1)
	defer w.of.count(0, -1)
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
