//go:build linux || darwin

package controlplane

import (
	"net"
	"sync"
	"time"
)

const (
	chunkSize = 32 << 10
	// chunksUnderway is the maximum number of chunks that the proxy holds for one direction of a connection. A faster
	// sender waits.
	chunksUnderway = 64
)

// proxy forwards connections to a loopback address. It forwards each chunk of bytes after a delay, which can be changed
// at any time. Order and throughput stay the same; only the latency grows.
type proxy struct {
	listener net.Listener
	to       string
	work     sync.WaitGroup // the listener, and four goroutines for each connection

	mu      sync.Mutex
	delay   time.Duration
	changed chan struct{} // closed when delay changes
	conns   map[net.Conn]struct{}
	closed  bool // no further connection is added
}

// newProxy returns a proxy to an address, without delay. It runs until it is closed.
func newProxy(to string) (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: listener, to: to, changed: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	p.work.Go(p.accept)
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

// slow sets the delay of all chunks, including those that the proxy already holds.
func (p *proxy) slow(delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = delay
	close(p.changed)
	p.changed = make(chan struct{})
}

// close breaks all connections and waits for the goroutines of the proxy.
func (p *proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for conn := range p.conns {
		conn.Close()
	}
	p.mu.Unlock()
	p.slow(0)
	p.work.Wait()
}

func (p *proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", p.to)
		if err != nil {
			near.Close()
			continue
		}
		p.join(near, far)
	}
}

// join forwards the bytes of both sides until one of them ends.
func (p *proxy) join(near, far net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		near.Close()
		far.Close()
		return
	}
	p.conns[near], p.conns[far] = struct{}{}, struct{}{}
	p.pass(near, far)
	p.pass(far, near)
}

// chunk is the result of one read.
type chunk struct {
	data []byte
	read time.Time
}

// pass forwards the bytes from one side to the other, in goroutines of p.
func (p *proxy) pass(from, to net.Conn) {
	underway := make(chan chunk, chunksUnderway)
	p.work.Go(func() {
		defer close(underway)
		for {
			data := make([]byte, chunkSize)
			n, err := from.Read(data)
			if n > 0 {
				underway <- chunk{data[:n], time.Now()}
			}
			if err != nil {
				return
			}
		}
	})
	p.work.Go(func() {
		var broken error
		for c := range underway {
			if broken == nil {
				p.wait(c.read)
				_, broken = to.Write(c.data)
			}
			if broken != nil {
				from.Close()
			}
		}
		p.leave(from, to)
	})
}

// wait blocks until the delay has passed since read.
func (p *proxy) wait(read time.Time) {
	for {
		p.mu.Lock()
		left, changed := time.Until(read.Add(p.delay)), p.changed
		p.mu.Unlock()
		if left <= 0 {
			return
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-changed:
		}
		timer.Stop()
	}
}

// leave closes conns, the two sides of a connection.
func (p *proxy) leave(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		conn.Close()
		delete(p.conns, conn)
	}
}
