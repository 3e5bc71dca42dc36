package envtest

import (
	"strings"
	"testing"
)

// TestFlagsOfTheServer checks that flags are errors unless they ask for what the server has.
func TestFlagsOfTheServer(t *testing.T) {
	for _, test := range []struct {
		name string // the server, and a text
		set  func(*Arguments)
		want string
	}{
		{"in-memory, none", func(*Arguments) {}, ""},
		{"in-memory, defaults", func(a *Arguments) {
			a.Append("allow-privileged", "true").Append("allow-privileged", "true").Set("authorization-mode", "RBAC")
			a.AppendNoDefaults("disable-admission-plugins", "ServiceAccount")
		}, ""},
		{"in-memory, values", func(a *Arguments) {
			a.Set("v", "2").Set("allow-privileged", "false").Append("disable-admission-plugins", "LimitRanger")
		}, "envtest: flags of kube-apiserver are not supported: [allow-privileged disable-admission-plugins v]"},
		{"in-memory, no value", func(a *Arguments) { a.Enable("profiling") },
			"envtest: flags of kube-apiserver are not supported: [profiling]"},
		{"in-memory, removed", func(a *Arguments) { a.Disable("allow-privileged") },
			"envtest: flags of kube-apiserver are not supported: [allow-privileged]"},
		{"in-memory, wider limits", func(a *Arguments) {
			a.Set("enable-priority-and-fairness", "false").Set("max-requests-inflight", "800")
		}, ""},
		{"in-memory, lower limits", func(a *Arguments) {
			a.Set("enable-priority-and-fairness", "true").Set("max-requests-inflight", "1")
		}, "envtest: flags of kube-apiserver are not supported: [enable-priority-and-fairness max-requests-inflight]"},
		{"real, wider limits", func(a *Arguments) { a.Set("max-requests-inflight", "800") },
			"envtest: flags of kube-apiserver are not supported: [max-requests-inflight]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server, _, _ := strings.Cut(test.name, ",")
			t.Setenv("KCTRL_TEST_SERVER", server)
			var plane ControlPlane
			test.set(plane.GetAPIServer().Configure())
			got := ""
			if err := plane.check(); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
