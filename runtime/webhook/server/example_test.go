package server_test

import (
	"fmt"
	"net/http"

	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// A part of a program that is set up anew after a failure registers its webhooks again; twice in one go is a mistake, and another part is kept from it.
func ExampleServer_HandleFor() {
	s := server.New(server.Options{})
	for _, owner := range []server.Owner{{Name: "guestbook", Build: 1}, {Name: "guestbook", Build: 2}, {Name: "guestbook", Build: 2}, {Name: "cronjob", Build: 3}} {
		fmt.Println(s.HandleFor(owner, "/mutate", http.NotFoundHandler(), server.MaxReview))
	}
	// Output:
	// <nil>
	// <nil>
	// there is another webhook at /mutate; give one of them another path
	// there is another webhook at /mutate; give one of them another path
}
