//go:build linux || darwin

package controlplane

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
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
	delay    atomic.Int64       // in nanoseconds
	end      context.CancelFunc // closes all connections
	work     sync.WaitGroup     // the listener, and four goroutines for each connection
}

// newProxy returns a proxy to an address, without delay. It runs until it is closed.
func newProxy(to string) (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(context.Background())
	p := &proxy{listener: listener, to: to, end: end}
	p.work.Go(func() { p.accept(ctx) })
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

// slow sets the delay of all chunks, including those that the proxy already holds.
func (p *proxy) slow(delay time.Duration) { p.delay.Store(int64(delay)) }

// close breaks all connections and waits for the goroutines of the proxy.
func (p *proxy) close() {
	p.listener.Close()
	p.end()
	p.slow(0)
	p.work.Wait()
}

func (p *proxy) accept(ctx context.Context) {
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
		closeBoth := func() {
			near.Close()
			far.Close()
		}
		forget := context.AfterFunc(ctx, closeBoth)
		for from, to := range map[net.Conn]net.Conn{near: far, far: near} {
			p.pass(from, to, func() {
				forget()
				closeBoth()
			})
		}
	}
}

// chunk is the result of one read.
type chunk struct {
	data []byte
	read time.Time
}

// pass forwards the bytes from one side to the other until one of them ends, in goroutines of p. It then calls end,
// which closes both sides.
func (p *proxy) pass(from, to net.Conn, end func()) {
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
		for c := range underway {
			p.wait(c.read)
			if _, err := to.Write(c.data); err != nil {
				break
			}
		}
		end()
		for range underway { // the reader may wait for space
		}
	})
}

// wait blocks until the delay has passed since read.
func (p *proxy) wait(read time.Time) {
	for time.Since(read) < time.Duration(p.delay.Load()) {
		time.Sleep(time.Millisecond)
	}
}
