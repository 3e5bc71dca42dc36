package main

import (
	"encoding/json"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version describes the build of a kctrl binary.
type version struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersionCommand(s *streams) *cobra.Command {
	var output outputFormat
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of kctrl",
		Args:  noArgs,
		RunE:  func(*cobra.Command, []string) error { return runVersion(s, output) },
	}
	addOutputFlag(cmd.Flags(), &output, outputText, outputJSON)
	return cmd
}

func runVersion(s *streams, output outputFormat) error {
	v := buildVersion()
	if output == outputJSON {
		return json.NewEncoder(s.out).Encode(v)
	}
	s.printf("kctrl %s", v.Version)
	if v.Commit != "" {
		s.printf(" (%s)", v.Commit)
	}
	s.printf(" %s %s\n", v.Go, v.Platform)
	return nil
}

// buildVersion returns the version information that the go command recorded in the binary.
func buildVersion() version {
	v := version{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			v.Commit = setting.Value
		case "vcs.modified":
			v.Modified = setting.Value == "true"
		}
	}
	return v
}
