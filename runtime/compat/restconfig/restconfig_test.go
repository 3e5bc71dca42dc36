package restconfig_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/runtime/compat/restconfig"
)

// writeKubeconfig writes a kubeconfig for an API server that nobody listens at, and returns its path.
func writeKubeconfig(t *testing.T, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	content := `{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":"` + server +
		`"}}],"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{}}]}`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestGetConfigTakesTheKubeconfigOfTheFlag(t *testing.T) {
	t.Setenv("KUBECONFIG", writeKubeconfig(t, "http://127.0.0.1:1"))
	config, err := restconfig.GetConfig()
	if err != nil || config.Host != "http://127.0.0.1:1" {
		t.Errorf("without the flag: got %v, %v", config, err)
	}
	set := flag.CommandLine
	defer func() { flag.CommandLine = set }()
	flag.CommandLine = flag.NewFlagSet("guestbook", flag.ContinueOnError)
	flag.String("kubeconfig", "", "")
	if err := flag.CommandLine.Parse([]string{"--kubeconfig", writeKubeconfig(t, "http://127.0.0.1:2")}); err != nil {
		t.Fatal(err)
	}
	config, err = restconfig.GetConfig()
	if err != nil || config.Host != "http://127.0.0.1:2" {
		t.Errorf("with the flag: got %v, %v", config, err)
	}
}

func TestGetConfigWithContextTakesThatOfTheName(t *testing.T) {
	t.Setenv("KUBECONFIG", writeKubeconfig(t, "http://127.0.0.1:1"))
	if config, err := restconfig.GetConfigWithContext(""); err != nil || config.Host != "http://127.0.0.1:1" {
		t.Errorf("without a name: %v, %v", config, err)
	}
	if _, err := restconfig.GetConfigWithContext("elsewhere"); err == nil || !strings.Contains(err.Error(), "elsewhere") {
		t.Errorf("a context that is not there: %v", err)
	}
}

func TestKubeconfigIsAFlagOfTheSetAndOfTheProgram(t *testing.T) {
	set := flag.NewFlagSet("test", flag.ContinueOnError)
	restconfig.RegisterFlags(set)
	restconfig.RegisterFlags(set)
	restconfig.RegisterFlags(nil)
	before := flag.Lookup("kubeconfig").Value.String()
	defer func() { _ = flag.Set("kubeconfig", before) }()
	if err := set.Parse([]string{"--kubeconfig", "/nowhere"}); err != nil {
		t.Fatal(err)
	}
	if _, err := restconfig.GetConfig(); err == nil {
		t.Error("the flag of the set is not read")
	}
}
