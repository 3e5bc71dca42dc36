package testenv_test

import (
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/testenv"
)

func TestAttachRefusesWhatItCannotDo(t *testing.T) {
	config := &rest.Config{Host: "http://nowhere"}
	for _, opt := range []testenv.Option{testenv.WithFaults(), testenv.WithKubernetes("1.34"),
		testenv.WithControllerManager()} {
		contains(t, record(func(t testing.TB) { testenv.Attach(t, config, opt) }), "attach to an API server: ",
			"use testenv.Start")
	}
	contains(t, record(func(t testing.TB) { testenv.Attach(t, config, testenv.WithCRDs("nowhere")) }),
		"install CRDs: nowhere: ", "no such file")
}
