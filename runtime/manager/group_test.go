package manager

import (
	"flag"
	"testing"

	"github.com/kctrl-dev/kctrl/runtime/cache"
)

func TestACacheThatIsAddedStartsWithTheCaches(t *testing.T) {
	if got := groupOf(&cache.Cache{}); got != caches {
		t.Errorf("it is among the %s", got)
	}
}

func TestKubeconfigIsAFlagOfTheSetAndOfTheProgram(t *testing.T) {
	set := flag.NewFlagSet("test", flag.ContinueOnError)
	RegisterFlags(set)
	RegisterFlags(set)
	RegisterFlags(nil)
	before := flag.Lookup(kubeconfigFlag).Value.String()
	defer func() { _ = flag.Set(kubeconfigFlag, before) }()
	if err := set.Parse([]string{"--kubeconfig", "/nowhere"}); err != nil {
		t.Fatal(err)
	}
	if _, err := GetConfig(); err == nil {
		t.Error("the flag of the set is not read")
	}
}
