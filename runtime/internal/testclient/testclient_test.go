package testclient

import (
	"net"
	"net/url"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// watched returns the only open watch of a client, and the server's address.
func watched(t *testing.T) (client.Stream[object.Object], string) {
	t.Helper()
	c, err := New(Options{Scheme: kruntime.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("v1")
	list.SetKind("NamespaceList")
	events, err := c.Watch(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(c.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	return events, at.Host
}

func listens(address string) bool {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

func TestServerLastsAsLongAsSomethingOfItsClientIsReachable(t *testing.T) {
	events, address := watched(t)
	for range 5 {
		runtime.GC()
	}
	if event, err := events.Next(); err != nil || event.Object == nil || !listens(address) {
		t.Errorf("the server stopped while a watch was in use: %v", err)
	}
	events.Close()
	runtime.KeepAlive(events)
	events = nil
	for listens(address) {
		if t.Context().Err() != nil {
			t.Fatal("the server runs, and nothing of its client is reachable")
		}
		runtime.GC()
	}
}
