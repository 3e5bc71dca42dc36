package conversion_test

import (
	"fmt"

	"github.com/kctrl-dev/kctrl/runtime/webhook/conversion"
	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// A part of a program that is set up again after a failure may register its kind again. Another part may not replace
// the registration.
func ExampleRegisterFor() {
	c := conversion.New(nil)
	fmt.Println(conversion.RegisterFor(c, server.Owner{Name: "things", Build: 1}, scheme(), ofFirst))
	fmt.Println(conversion.RegisterFor(c, server.Owner{Name: "things", Build: 2}, scheme(), ofFirst, ofThird))
	fmt.Println(conversion.RegisterFor(c, server.Owner{Name: "others", Build: 1}, scheme(), ofFirst))
	// Output:
	// <nil>
	// <nil>
	// conversion of Thing.example.com: it is registered already
}
