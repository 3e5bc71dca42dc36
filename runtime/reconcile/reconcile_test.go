package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

func TestTerminalErrorIsFoundThroughWrapping(t *testing.T) {
	cause := errors.New("no such image")
	err := fmt.Errorf("reconcile: %w", reconcile.TerminalError(cause))
	if !errors.Is(err, reconcile.ErrTerminal) || !errors.Is(err, cause) {
		t.Errorf("%v is not both terminal and its cause", err)
	}
	if want := "reconcile: terminal error: no such image"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if errors.Is(cause, reconcile.ErrTerminal) {
		t.Error("the cause itself became terminal")
	}
}

func TestTerminalErrorWithoutACauseIsStillAnError(t *testing.T) {
	err := reconcile.TerminalError(nil)
	if err == nil || !errors.Is(err, reconcile.ErrTerminal) || err.Error() != "terminal error" {
		t.Errorf("got %v", err)
	}
}

func TestRequestsOfOneObjectAreEqual(t *testing.T) {
	request := func(name string) reconcile.Request {
		return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: name}}
	}
	hello, again := request("hello"), request("hello")
	if hello != again || hello == request("world") {
		t.Error("requests do not compare as the objects they name")
	}
	if got := request("hello").String(); got != "default/hello" {
		t.Errorf("request prints as %q", got)
	}
}

func ExampleFunc() {
	var reconciler reconcile.Reconciler[reconcile.Request] = reconcile.Func[reconcile.Request](
		func(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
			fmt.Println("reconcile", request)
			return reconcile.Result{RequeueAfter: time.Minute}, nil
		})
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "hello"}}
	result, err := reconciler.Reconcile(context.Background(), request)
	fmt.Println(result.RequeueAfter, err)
	// Output:
	// reconcile default/hello
	// 1m0s <nil>
}
