package server_test

import (
	"fmt"
	"net/http"

	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// A part of a program that is set up anew after a failure registers its webhooks again; that of another part is kept from it.
func ExampleServer_HandleFor() {
	s := server.New(server.Options{})
	fmt.Println(s.HandleFor("guestbook", "/mutate", http.NotFoundHandler(), server.MaxReview))
	fmt.Println(s.HandleFor("guestbook", "/mutate", http.NotFoundHandler(), server.MaxReview))
	fmt.Println(s.HandleFor("cronjob", "/mutate", http.NotFoundHandler(), server.MaxReview))
	// Output:
	// <nil>
	// <nil>
	// there is another webhook at /mutate; give one of them another path
}
