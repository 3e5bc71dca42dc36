package main

import (
	"bytes"
	"strings"
	"testing"
)

// kubebuilderFlags are the flags of kubebuilder v4 and its plugins, by command.
var kubebuilderFlags = map[string]string{
	"init": "domain repo project-name owner license license-file multigroup namespaced fetch-deps " +
		"skip-go-version-check component-config plugins project-version",
	"create api": "group version kind plural resource controller controller-name namespaced ssa external-api-path " +
		"external-api-domain external-api-module force make plugins " +
		"image image-container-command image-container-port run-as-user manifests",
}

// TestFlagsOfKubebuilder checks that kctrl has each flag, or rejects it and names a replacement.
func TestFlagsOfKubebuilder(t *testing.T) {
	root := newRootCommand(newStreams(nil, &bytes.Buffer{}, &bytes.Buffer{}))
	for path, flags := range kubebuilderFlags {
		cmd, _, err := root.Find(strings.Fields(path))
		if err != nil {
			t.Fatal(err)
		}
		for name := range strings.FieldsSeq(flags) {
			if flag := cmd.Flags().Lookup(name); flag != nil {
				continue
			}
			if hint, ok := peerFlag(cmd, name); !ok || hint == "" {
				t.Errorf("%s --%s is neither a flag nor refused with a hint", path, name)
			}
			var stderr bytes.Buffer
			s := newStreams(strings.NewReader(""), &bytes.Buffer{}, &stderr)
			code := run(t.Context(), append(strings.Fields(path), "--"+name+"=x"), s)
			if lines := strings.Split(strings.TrimSpace(stderr.String()), "\n"); code != exitUsage || len(lines) != 2 ||
				!strings.HasPrefix(lines[1], "hint: ") {
				t.Errorf("%s --%s ends with %d and says\n%s", path, name, code, &stderr)
			}
		}
	}
}
