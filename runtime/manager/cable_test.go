package manager_test

import (
	"io"
	"net"
	"sync"
	"testing"
)

// cable is a TCP proxy that can be cut. Cutting it loses the data in transit and blocks its connections.
type cable struct {
	listener net.Listener
	to       string
	ends     sync.WaitGroup

	mu    sync.Mutex
	down  bool
	ages  int        // number of cuts
	conns []net.Conn // all connections since the start
}

// plug returns a cable to an address. The cable works until the test ends.
func plug(t *testing.T, to string) *cable {
	t.Helper()
	listener, err := net.Listen("tcp", loopback)
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{listener: listener, to: to}
	c.ends.Go(c.accept)
	t.Cleanup(func() {
		listener.Close()
		c.mu.Lock()
		for _, conn := range c.conns {
			conn.Close()
		}
		c.mu.Unlock()
		c.ends.Wait()
	})
	return c
}

func (c *cable) address() string { return c.listener.Addr().String() }

// cut discards all data from now on. Connections that are open stay blocked forever.
func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = true
	c.ages++
}

// repair lets new connections pass data.
func (c *cable) repair() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = false
}

func (c *cable) accept() {
	for {
		near, err := c.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", c.to)
		if err != nil {
			near.Close()
			continue
		}
		c.mu.Lock()
		c.conns = append(c.conns, near, far)
		age := c.ages
		if c.down {
			age = -1
		}
		c.mu.Unlock()
		c.ends.Go(func() { c.copy(near, far, age) })
		c.ends.Go(func() { c.copy(far, near, age) })
	}
}

// copy forwards the data of a connection of that age until the cable is cut.
func (c *cable) copy(to, from net.Conn, age int) {
	io.Copy(writerFunc(func(p []byte) (int, error) {
		c.mu.Lock()
		intact := c.ages == age
		c.mu.Unlock()
		if !intact {
			return len(p), nil
		}
		return to.Write(p)
	}), from)
	c.mu.Lock()
	intact := c.ages == age
	c.mu.Unlock()
	if intact {
		to.Close()
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
