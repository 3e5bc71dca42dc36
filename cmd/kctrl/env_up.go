//go:build linux || darwin

package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kctrl-dev/kctrl/internal/controlplane"
	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

type envUpOptions struct {
	name       string
	foreground bool
	control    bool
	repair     bool
	output     outputFormat
	start      controlplane.Options
}

func newEnvUpCommand(s *streams) *cobra.Command {
	var o envUpOptions
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start an API server in the background",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runEnvUp(cmd.Context(), s, o) },
	}
	flags := cmd.Flags()
	addNameFlag(flags, &o.name)
	addKubernetesFlag(flags, &o.start.Kubernetes)
	flags.BoolVar(&o.start.InMemory, "in-memory", false,
		"run kctrl's own API server, which keeps objects in memory and starts at once")
	flags.StringVar(&o.start.DataDir, "data-dir", "", "`directory` for stored objects (default: a temporary directory)")
	flags.IntVar(&o.start.Port, "port", 0, "`port` of the API server on 127.0.0.1; 0 selects a free port")
	flags.BoolVar(&o.start.ControllerManager, "controller-manager", false,
		"also run kube-controller-manager, for garbage collection and the built-in kinds")
	flags.StringVar(&o.start.Controllers, "controllers", "",
		"with --controller-manager, `list` of controllers to run, such as garbage-collector-controller; '*,-foo' runs all "+
			"default controllers except foo")
	flags.BoolVar(&o.start.GarbageCollector, "garbage-collector", false,
		"run kctrl's garbage collector, without kube-controller-manager")
	flags.BoolVar(&o.start.FakeControllers, "fake-controllers", false,
		"with --in-memory, run fake controllers and nodes, so that Pods become ready, Jobs complete, and namespaces "+
			"terminate")
	flags.StringVar(&o.start.FeatureGates, "feature-gates", "",
		"feature `gates` of the API server, such as CBORServingAndStorage=true")
	flags.BoolVar(&o.foreground, "foreground", false, "run until interrupted, or until a pipe on standard input closes")
	flags.BoolVar(&o.control, "control", false,
		"with --foreground and -o json, read commands from standard input: kill, start, slow or compact, for failure tests")
	flags.BoolVar(&o.repair, "repair", false,
		"with --in-memory, first drop damaged parts of the stored objects, and keep a copy of the damaged file")
	addOutputFlag(flags, &o.output, outputText, outputJSON)
	return cmd
}

func runEnvUp(ctx context.Context, s *streams, o envUpOptions) error {
	if err := controlplane.ValidateName(o.name); err != nil {
		return err
	}
	switch {
	case o.start.Port < 0 || o.start.Port > 65535:
		return usageError("--port needs a number from 0 to 65535")
	case o.start.Controllers != "" && !o.start.ControllerManager:
		return usageError("--controllers needs --controller-manager")
	case o.start.GarbageCollector && o.start.ControllerManager && o.start.Controllers == "":
		return usageError("two garbage collectors: remove --garbage-collector, or use " +
			"--controllers='*,-garbage-collector-controller'")
	case o.start.FakeControllers && !o.start.InMemory:
		return usageError("--fake-controllers needs --in-memory; use --controller-manager with a real API server")
	case o.start.InMemory &&
		(o.start.Kubernetes != "" || o.start.ControllerManager || o.start.FeatureGates != "" || o.control):
		return diagnostic.Usage(
			"--in-memory cannot be combined with --kubernetes, --controller-manager, --feature-gates and --control",
			"use --fake-controllers for fake controllers and nodes, or --garbage-collector")
	case o.repair && !o.start.InMemory:
		return usageError("--repair needs --in-memory")
	case o.repair:
		o.start.Repaired = s.notice
	}
	if o.start.DataDir != "" {
		absolute, err := filepath.Abs(filepath.Join(s.dir, o.start.DataDir))
		if filepath.IsAbs(o.start.DataDir) {
			absolute, err = o.start.DataDir, nil
		}
		if err != nil {
			return err
		}
		o.start.DataDir = absolute
	}
	if o.control && (!o.foreground || o.output != outputJSON || !pipe(s.in)) {
		return usageError("--control needs --foreground, -o json and a pipe as standard input")
	}
	if err := controlplane.ValidateVersion(o.start.Kubernetes); err != nil {
		return err
	}
	build := func(start controlplane.Options) (controlplane.Assets, error) {
		if !start.InMemory && !controlplane.Compiled(ctx, start) {
			s.problem("", diagnostic.New("no control plane is compiled yet, and compiling takes minutes",
				"run kctrl env up --in-memory for an API server in memory, in about a minute"))
		}
		return controlplane.Build(ctx, start, progress(s))
	}
	if o.foreground {
		assets, err := build(o.start)
		if err != nil {
			return err
		}
		return runEnvForeground(ctx, s, assets, o)
	}
	environments, err := openEnvironments(ctx, s)
	if err != nil {
		return err
	}
	environments.Repaired = o.start.Repaired
	env, outcome, err := environments.Up(ctx, o.name, build, o.start)
	if err != nil {
		return err
	}
	if o.output == outputJSON {
		return json.NewEncoder(s.out).Encode(env)
	}
	if outcome != controlplane.Started {
		s.warnKept(env, o.start)
	}
	s.printf("environment %q %s at %s\n", env.Name, outcomes[outcome], env.Server)
	printNext(s, []string{"export KUBECONFIG=" + shellWords([]string{env.Kubeconfig}),
		"kctrl env down" + controlplane.NameArgument(env.Name)})
	return nil
}

// outcomes describes the outcomes of a start to the user.
var outcomes = map[controlplane.Outcome]string{
	controlplane.Running: "is already running",
	controlplane.Started: "started",
	controlplane.Resumed: "runs again, with its objects,",
}

// warnKept warns that a running environment ignores options.
func (s *streams) warnKept(env *controlplane.Environment, start controlplane.Options) {
	if (!start.InMemory || env.InMemory) && start.Kubernetes == "" && start.DataDir == "" && start.Port == 0 &&
		!start.ControllerManager && !start.GarbageCollector && !start.FakeControllers && start.FeatureGates == "" {
		return
	}
	s.problem("warning: ", diagnostic.New("the environment is already running: options apply only at the start",
		"run kctrl env down, then kctrl env up with these options"))
}

// foregroundReady is the output of a control plane in the foreground when it is ready.
type foregroundReady struct {
	Server     string `json:"server"`
	Kubeconfig string `json:"kubeconfig"`
}

// runEnvForeground runs an unnamed control plane in a temporary directory until ctx ends, a signal arrives, or a pipe
// on standard input is closed.
func runEnvForeground(ctx context.Context, s *streams, assets controlplane.Assets, o envUpOptions) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// This process removes the keys when it ends. If it is killed, the next process removes them.
	ctx, stop := untilTerminated(ctx)
	defer stop()
	folder, remove, err := controlplane.TemporaryDir(ctx, s.notice)
	if err != nil {
		return err
	}
	defer remove()
	o.start.Dir, o.start.Attached, o.start.Faults = folder, true, o.control
	if pipe(s.in) && !o.control {
		go func() { // ends at the latest with the process: a read of standard input cannot be interrupted
			_, _ = io.Copy(io.Discard, s.in)
			cancel()
		}()
	}
	instance, err := controlplane.Start(ctx, assets, o.start)
	if err != nil {
		return err
	}
	defer instance.Stop()
	if o.output == outputJSON {
		err = json.NewEncoder(s.out).Encode(foregroundReady{instance.Server, instance.Kubeconfig})
	} else {
		s.printf("ready at %s; export KUBECONFIG=%s\n", instance.Server, shellWords([]string{instance.Kubeconfig}))
	}
	if err != nil {
		return err
	}
	if o.control {
		go func() { // ends at the latest with the process, as above
			takeCommands(ctx, instance, s.in, s.out)
			cancel()
		}()
	}
	return instance.Wait(ctx)
}

func pipe(r io.Reader) bool {
	file, ok := r.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}
