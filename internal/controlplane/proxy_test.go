//go:build linux || darwin

package controlplane

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"
)

// echo sends back everything that a connection sends, until the test ends.
func echo(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		<-ended
	})
	return listener.Addr().String()
}

func proxied(t *testing.T) (*proxy, net.Conn) {
	t.Helper()
	p, err := newProxy(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	conn, err := net.Dial("tcp", p.address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return p, conn
}

func send(t *testing.T, conn net.Conn, text []byte) {
	t.Helper()
	if _, err := conn.Write(text); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, conn net.Conn, want []byte) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("got %d bytes, %v; equal: %v", len(got), err, bytes.Equal(got, want))
	}
}

func TestProxyDelaysBothDirections(t *testing.T) {
	p, conn := proxied(t)
	const delay = 30 * time.Millisecond
	p.slow(delay)
	begin := time.Now()
	send(t, conn, []byte("there and back"))
	receive(t, conn, []byte("there and back"))
	if took := time.Since(begin); took < 2*delay {
		t.Errorf("it took %s", took)
	}
}

func TestProxyReleasesWhatIsUnderwayWhenTheDelayEnds(t *testing.T) {
	p, conn := proxied(t)
	p.slow(time.Hour)
	send(t, conn, []byte("late"))
	p.slow(0)
	receive(t, conn, []byte("late"))
}

func TestProxyKeepsOrderAndBytes(t *testing.T) {
	p, conn := proxied(t)
	p.slow(time.Millisecond)
	text := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	written := make(chan error, 1)
	go func() {
		_, err := conn.Write(text)
		written <- err
	}()
	receive(t, conn, text)
	if err := <-written; err != nil {
		t.Error(err)
	}
}

func TestProxyEndsWithWhatIsUnderway(t *testing.T) {
	p, conn := proxied(t)
	p.slow(time.Hour)
	send(t, conn, []byte("lost"))
	p.close()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("something came through a proxy that is closed")
	}
}

func TestProxyEndsAConnectionWhoseOtherSideIsNotThere(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	p, err := newProxy(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	conn, err := net.Dial("tcp", p.address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("a server answered")
	}
}
