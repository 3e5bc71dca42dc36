// Package plugin lets an executable of somebody else add files to a plan. It speaks the protocol of kubebuilder's external plugins:
// a request in JSON on standard input, a response in JSON on standard output, and what is to be said to people on standard error.
//
// A plugin is started in an empty folder and is sent the files that it asks for, and no others: by patterns in the field "files" of
// its response to the command "flags", which kubebuilder does not have, or by those that the user allows it. Only texts are sent, since
// JSON has no place for other bytes. What it returns goes into the plan, where it is checked, shown and written as what kctrl makes
// itself. As with kubebuilder, a plugin that cannot answer "flags" or "metadata" is one that says nothing of them.
package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

// Plugin is an executable that speaks the protocol.
type Plugin struct {
	// Name is what messages and PROJECT.lock call it, such as sampleexternalplugin/v1.
	Name string
	// Path is its absolute path.
	Path string
	// Log takes what it says on standard error. Nil drops it.
	Log io.Writer
}

// Run says what a plugin is to do.
type Run struct {
	// Command is init, edit, create api or create webhook.
	Command string
	// Args are the flags of the plugin.
	Args []string
	// Read are patterns of files that it is sent besides those that it asks for: as in [path.Match], or a folder with /** behind it.
	Read []string
	// Force lets it replace files that it was not sent, or that users have edited.
	Force bool
}

// Find returns the plugin of a name and a version, as in sampleexternalplugin/v1, or the one at a path, which begins with a dot or is
// absolute. Names are looked for in the folder that EXTERNAL_PLUGINS_PATH names, or else where kubebuilder has them.
func Find(name string) (Plugin, error) {
	if strings.HasPrefix(name, ".") || filepath.IsAbs(name) {
		file, err := filepath.Abs(name)
		if err == nil {
			err = executable(file)
		}
		if err != nil {
			return Plugin{}, &diagnostic.Error{Message: "there is no plugin at " + diagnostic.Quote(name) + ": " + err.Error(), Hint: "name an executable file", Class: diagnostic.ErrUsage}
		}
		return Plugin{Name: strings.TrimSuffix(filepath.Base(file), ".exe"), Path: file}, nil
	}
	base, version, _ := strings.Cut(name, "/")
	if !filepath.IsLocal(base) || !filepath.IsLocal(version) || strings.ContainsAny(name, `\`) {
		return Plugin{}, &diagnostic.Error{
			Message: diagnostic.Quote(name) + " names no plugin", Hint: "write its name and version, as in sampleexternalplugin/v1, or its path, as in ./myplugin", Class: diagnostic.ErrUsage,
		}
	}
	folders, err := roots()
	if err != nil {
		return Plugin{}, err
	}
	for _, folder := range folders {
		if file, ok := named(filepath.Join(folder, base, version), base); ok {
			return Plugin{Name: name, Path: file}, nil
		}
	}
	return Plugin{}, &diagnostic.Error{
		Message: "there is no plugin " + name,
		Hint:    "put its executable at " + filepath.Join(folders[0], base, version, base) + ", or name its path, as in ./" + base,
		Class:   diagnostic.ErrUsage,
	}
}

// named returns the executable of a folder that has a name, alone or with an extension as in monitoring.py.
func named(folder, name string) (file string, ok bool) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", false
	}
	for _, exact := range []bool{true, false} {
		for _, entry := range entries {
			first, _, _ := strings.Cut(entry.Name(), ".")
			file := filepath.Join(folder, entry.Name())
			if (entry.Name() == name || !exact && first == name) && executable(file) == nil {
				return file, true
			}
		}
	}
	return "", false
}

// roots returns where plugins are: in the one folder that the environment names, or else in those that kubebuilder looks into.
func roots() ([]string, error) {
	if folder := os.Getenv("EXTERNAL_PLUGINS_PATH"); folder != "" {
		return []string{folder}, nil
	}
	config, err := os.UserConfigDir()
	if err != nil {
		return nil, fmt.Errorf("find plugins: %w", err)
	}
	return []string{filepath.Join(config, "kctrl", "plugins"), filepath.Join(config, "kubebuilder", "plugins")}, nil
}

func executable(file string) error {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return errors.Unwrap(err)
	case !info.Mode().IsRegular():
		return errors.New("it is no file")
	case runtime.GOOS != "windows" && info.Mode()&0o111 == 0:
		return errors.New("it is not executable")
	}
	return nil
}

// apiVersion is that of the protocol.
const apiVersion = "v1alpha1"

// request and response are the documents of the protocol.
type request struct {
	APIVersion  string            `json:"apiVersion"`
	Args        []string          `json:"args"`
	Command     string            `json:"command"`
	Universe    map[string]string `json:"universe"`
	PluginChain []string          `json:"pluginChain,omitempty"`
	Config      map[string]any    `json:"config,omitempty"`
}

type response struct {
	Universe  map[string]string                      `json:"universe"`
	Error     bool                                   `json:"error"`
	ErrorMsgs []string                               `json:"errorMsgs"`
	Flags     []Flag                                 `json:"flags"`
	Metadata  struct{ Description, Examples string } `json:"metadata"`
	// Files are patterns of the files that the plugin asks for. Kubebuilder does not have it, and sends all there are.
	Files []string `json:"files"`
}

// Flag is one that a plugin has.
type Flag struct{ Name, Type, Default, Usage string }

// Description is what a plugin says of one of its commands. What it does not say is empty.
type Description struct {
	Description, Examples string
	Flags                 []Flag
}

// maxOutput bounds what a plugin may say, and the files that it may be sent.
const maxOutput = 64 << 20

// subcommands are what plugins are asked to do, by what they are called in questions about flags and metadata.
var subcommands = map[string]string{"init": "init", "edit": "edit", "create api": "api", "create webhook": "webhook"}

// Commands are what plugins can be asked to do, in order.
func Commands() []string { return slices.Sorted(maps.Keys(subcommands)) }

// Describe asks the plugin what it says of a command.
func (pl Plugin) Describe(ctx context.Context, command string) (Description, error) {
	metadata, err := pl.tell(ctx, "metadata", command)
	if err != nil {
		return Description{}, err
	}
	flags, err := pl.tell(ctx, "flags", command)
	return Description{metadata.Metadata.Description, metadata.Metadata.Examples, flags.Flags}, err
}

// tell asks the plugin something about a command, which it need not know. Errors are those of ctx.
func (pl Plugin) tell(ctx context.Context, question, command string) (*response, error) {
	answer, err := pl.ask(ctx, request{Command: question, Args: []string{"--" + subcommands[command]}})
	if err != nil {
		return &response{}, ctx.Err()
	}
	return answer, nil
}

// Plan adds to p what the plugin makes of the project.
func (pl Plugin) Plan(ctx context.Context, p *plan.Plan, proj *project.Project, run Run) error {
	declared, err := pl.tell(ctx, "flags", run.Command)
	if err != nil {
		return err
	}
	if err := pl.checkFlags(declared, run); err != nil {
		return err
	}
	sent, err := files(p, append(slices.Clone(declared.Files), run.Read...))
	if err != nil {
		return err
	}
	made, err := pl.ask(ctx, request{Command: run.Command, Args: run.Args, Universe: sent, PluginChain: []string{pl.Name}, Config: config(proj)})
	if err != nil {
		return err
	}
	var errs []error
	written := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(made.Universe)) {
		clean := path.Clean(filepath.ToSlash(name))
		if other, twice := written[clean]; twice && made.Universe[name] != made.Universe[other] {
			errs = append(errs, pl.problem("wants to write "+diagnostic.Quote(clean)+" in two ways, as "+diagnostic.Quote(other)+" and "+diagnostic.Quote(name), "a file has one name"))
			continue
		}
		written[clean] = name
		if content := made.Universe[name]; sent[name] != content || !has(sent, name) {
			errs = append(errs, pl.write(p, name, content, has(sent, name), run.Force))
		}
	}
	return errors.Join(errs...)
}

func has(files map[string]string, name string) bool {
	_, ok := files[name]
	return ok
}

// write plans one file of the plugin.
func (pl Plugin) write(p *plan.Plan, name, content string, sent, force bool) error {
	clean := path.Clean(filepath.ToSlash(name))
	for _, own := range []string{project.File, project.LockFile, ".git", "third_party/kctrl"} {
		if lower := strings.ToLower(clean); lower == strings.ToLower(own) || strings.HasPrefix(lower, strings.ToLower(own)+"/") {
			return pl.problem("wants to write "+diagnostic.Quote(name), "that is not for plugins to write")
		}
	}
	if err := project.CheckPath(clean); err != nil {
		return pl.problem("wants to write "+diagnostic.Quote(name), "a plugin may write below the project alone")
	}
	policy := plan.Guarded
	switch {
	case force:
		policy = policy.Forced()
	case sent:
		policy = plan.Edit // it has seen what it replaces
	}
	return p.WriteFile(plan.File{Path: clean, Content: []byte(content), Template: "plugin/" + pl.Name, Policy: policy})
}

func (pl Plugin) problem(message, hint string) error {
	return &diagnostic.Error{Message: "the plugin " + pl.Name + " " + message, Hint: hint}
}

// ask runs the plugin once.
func (pl Plugin) ask(ctx context.Context, r request) (*response, error) {
	r.APIVersion = apiVersion
	if r.Universe == nil {
		r.Universe = map[string]string{}
	}
	if r.Args == nil {
		r.Args = []string{}
	}
	input, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "kctrl-plugin-")
	if err != nil {
		return nil, fmt.Errorf("run the plugin %s: %w", pl.Name, err)
	}
	defer os.RemoveAll(folder)
	cmd := exec.CommandContext(ctx, pl.Path)
	cmd.Dir, cmd.Stdin, cmd.Stderr = folder, bytes.NewReader(input), pl.Log
	ownGroup(cmd)
	cmd.WaitDelay = time.Second // for those that it has started, that left its group, and that hold its output
	output := &bounded{}
	cmd.Stdout = output
	if err := cmd.Run(); err != nil {
		return nil, ctxError(ctx, pl.problem("has failed: "+err.Error(), "what it says above is its own"))
	}
	answer := &response{}
	if err := json.Unmarshal(output.buffer.Bytes(), answer); err != nil {
		return nil, pl.problem("does not answer in JSON: "+err.Error(), "it has to write nothing else to standard output")
	}
	if answer.Error {
		return nil, pl.problem("refuses "+r.Command+": "+diagnostic.OneLine(strings.Join(answer.ErrorMsgs, "; ")), "what it wants is in its documentation")
	}
	return answer, nil
}

// ctxError returns why ctx has ended, if it has, and else err.
func ctxError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// bounded is an output that fails when it becomes too long. The buffer is no part of its face: it would be read into past the bound.
type bounded struct{ buffer bytes.Buffer }

// Write fails once there is too much.
func (b *bounded) Write(p []byte) (int, error) {
	if b.buffer.Len()+len(p) > maxOutput {
		return 0, errors.New("it says too much")
	}
	return b.buffer.Write(p)
}

// kindFlags are those that every plugin has for the commands that create something: it is kubebuilder that declares them.
var kindFlags = []string{"group", "version", "kind"}

// checkFlags refuses flags that the plugin does not say it has. One that says nothing of flags takes any.
func (pl Plugin) checkFlags(declared *response, run Run) error {
	var names []string
	for _, flag := range declared.Flags {
		names = append(names, flag.Name)
	}
	for _, arg := range run.Args {
		name, ok := strings.CutPrefix(arg, "--")
		name, _, _ = strings.Cut(name, "=")
		if !ok || len(names) == 0 || slices.Contains(names, name) || strings.HasPrefix(run.Command, "create ") && slices.Contains(kindFlags, name) {
			continue
		}
		e := &diagnostic.Error{Message: "the plugin " + pl.Name + " has no flag --" + name, Hint: "its flags are --" + strings.Join(names, ", --"), Class: diagnostic.ErrUsage}
		if near, ok := diagnostic.Near(name, names); ok {
			e.Hint = "did you mean --" + near + "?"
		}
		return e
	}
	return nil
}

// files returns the texts of the project that patterns match. What git and kctrl keep for themselves is none.
func files(p *plan.Plan, patterns []string) (map[string]string, error) {
	found := map[string]string{}
	if len(patterns) == 0 {
		return found, nil
	}
	for _, pattern := range patterns {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, &diagnostic.Error{Message: diagnostic.Quote(pattern) + " is no pattern of files", Hint: "write config/default/*.yaml, or config/**", Class: diagnostic.ErrUsage}
		}
	}
	size := 0
	err := fs.WalkDir(p.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return diagnostic.AtFile(name, "cannot read", err)
		case entry.IsDir() && (name == ".git" || name == "third_party/kctrl"):
			return fs.SkipDir
		case !entry.Type().IsRegular() || !slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, name) }):
			return nil
		}
		content, err := p.Read(name)
		if err != nil {
			return err
		}
		if !utf8.Valid(content) {
			return nil
		}
		if size += len(content); size > maxOutput {
			return &diagnostic.Error{Message: "the plugin asks for more files than it can be sent", Hint: "have it ask for fewer"}
		}
		found[name] = string(content)
		return nil
	})
	return found, err
}

func matches(pattern, name string) bool {
	if folder, ok := strings.CutSuffix(pattern, "/**"); ok {
		return strings.HasPrefix(name, folder+"/")
	}
	ok, _ := path.Match(pattern, name)
	return ok || pattern == "**"
}

// config is what kubebuilder's PROJECT would say of a project.
func config(proj *project.Project) map[string]any {
	resources := []any{}
	for _, r := range proj.Resources {
		resource := map[string]any{"group": r.Group, "domain": r.Domain, "version": r.Version, "kind": r.Kind, "plural": r.Plural, "controller": r.Controller}
		if r.API {
			resource["api"] = map[string]any{"crdVersion": "v1", "namespaced": r.Namespaced}
		}
		if r.Path != "" {
			resource["path"], resource["external"] = r.Path, true
		}
		if r.Defaulting || r.Validation || r.Hub != "" {
			resource["webhooks"] = map[string]any{"webhookVersion": "v1", "defaulting": r.Defaulting, "validation": r.Validation, "conversion": r.Hub != ""}
		}
		resources = append(resources, resource)
	}
	return map[string]any{
		"version": "3", "layout": []any{project.Version}, "domain": proj.Domain, "repo": proj.Repo, "projectName": proj.Name,
		"multigroup": proj.MultiGroup, "namespaced": proj.Namespaced, "resources": resources,
	}
}
