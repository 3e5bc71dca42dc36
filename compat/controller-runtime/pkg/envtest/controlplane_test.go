package envtest

import "testing"

// TestFlagsOfTheServer checks that flags are errors unless they ask for what the server has.
func TestFlagsOfTheServer(t *testing.T) {
	for _, test := range []struct {
		name string
		set  func(*Arguments)
		want string
	}{
		{"none", func(*Arguments) {}, ""},
		{"defaults", func(a *Arguments) {
			a.Append("allow-privileged", "true").Append("allow-privileged", "true").Set("authorization-mode", "RBAC")
			a.AppendNoDefaults("disable-admission-plugins", "ServiceAccount")
		}, ""},
		{"values", func(a *Arguments) {
			a.Set("v", "2").Set("allow-privileged", "false").Append("disable-admission-plugins", "LimitRanger")
		}, "envtest: flags of kube-apiserver are not supported: [allow-privileged disable-admission-plugins v]"},
		{"removed", func(a *Arguments) { a.Disable("allow-privileged") },
			"envtest: flags of kube-apiserver are not supported: [allow-privileged]"},
	} {
		t.Run(test.name, func(t *testing.T) {
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
