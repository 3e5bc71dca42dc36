package conversion_test

import (
	"fmt"

	"github.com/kctrl-dev/kctrl/runtime/webhook/conversion"
)

// A part of a program that is set up anew after a failure registers its kind again; another part cannot take it away.
func ExampleRegisterFor() {
	c := conversion.New(nil)
	fmt.Println(conversion.RegisterFor(c, "things", scheme(), ofFirst))
	fmt.Println(conversion.RegisterFor(c, "things", scheme(), ofFirst, ofThird))
	fmt.Println(conversion.RegisterFor(c, "others", scheme(), ofFirst))
	// Output:
	// <nil>
	// <nil>
	// conversion of Thing.example.com: it is registered already
}
