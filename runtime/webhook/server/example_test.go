package server_test

import (
	"fmt"
	"net/http"

	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// A part of a program that is set up again after a failure may register its webhooks again. A part may not register the
// same path twice in one setup, and may not register the path of another part.
func ExampleServer_HandleFor() {
	s := server.New(server.Options{})
	for _, owner := range []server.Owner{{Name: "guestbook", Build: 1}, {Name: "guestbook", Build: 2},
		{Name: "guestbook", Build: 2}, {Name: "cronjob", Build: 3}} {
		fmt.Println(s.HandleFor(owner, "/mutate", http.NotFoundHandler(), server.MaxReview))
	}
	// Output:
	// <nil>
	// <nil>
	// there is another webhook at /mutate; give one of them another path
	// there is another webhook at /mutate; give one of them another path
}
