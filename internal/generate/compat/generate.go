package compat

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"

	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/deepcopy"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/schemapatcher"
	"sigs.k8s.io/controller-tools/pkg/webhook"

	ourcrd "github.com/kctrl-dev/kctrl/internal/generate/crd"
	"github.com/kctrl-dev/kctrl/internal/generate/object"
	"github.com/kctrl-dev/kctrl/internal/generate/schemapatch"
	ourwebhook "github.com/kctrl-dev/kctrl/internal/generate/webhook"
	ourmarkers "github.com/kctrl-dev/kctrl/internal/markers"
)

// input is what generators look at.
type input struct {
	genall.GenerationContext
	// marked are the packages for generators that need no types.
	marked []*loader.Package
	// read reads the files that options name.
	read func(name string) ([]byte, error)
	// generated are the files that build tags leave out.
	generated object.Generated
}

// generate runs all generators, also after one has failed.
func (c *Command) generate(dir string, in input) (*Result, error) {
	result := newResult(dir)
	var errs []error
	for _, g := range c.generators {
		ctx := in.GenerationContext
		ctx.InputRule = disk{dir, in.read}
		ctx.OutputRule = memory{dir: dir, rule: g.rule, result: result}
		if _, typed := g.value.(genall.NeedsTypeChecking); !typed {
			ctx.Roots = in.marked
		}
		errs = append(errs, run(dir, g.value, ctx, in.generated))
	}
	return result, errors.Join(errs...)
}

// run runs one generator: kctrl's own where it has one, which is the same but for what controller-gen leaves to chance.
func run(dir string, g genall.Generator, ctx genall.GenerationContext, generated object.Generated) error {
	switch g := g.(type) {
	case deepcopy.Generator:
		return object.Write(ctx, g, generated)
	case crd.Generator:
		_, err := ourcrd.Write(ctx, crdOptions(g))
		return err
	case schemapatcher.Generator:
		return patchSchemas(dir, g, ctx)
	case webhook.Generator:
		err := g.Generate(&ctx)
		if err == nil {
			return nil
		}
		registry, failed := ourmarkers.NewRegistry()
		if failed != nil {
			return failed
		}
		return cmp.Or(ourwebhook.Check(registry, dir, ctx.Roots), err)
	}
	return g.Generate(&ctx)
}

func crdOptions(g crd.Generator) ourcrd.Options {
	return ourcrd.Options{
		SchemaOptions: ourcrd.SchemaOptions{
			MaxDescLen:             g.MaxDescLen,
			EmbeddedObjectMeta:     isTrue(g.GenerateEmbeddedObjectMeta),
			DangerousTypes:         isTrue(g.AllowDangerousTypes),
			IgnoreUnexportedFields: isTrue(g.IgnoreUnexportedFields),
		},
		Versions:              g.CRDVersions,
		HeaderFile:            g.HeaderFile,
		Year:                  g.Year,
		PreserveUnknownFields: g.DeprecatedV1beta1CompatibilityPreserveUnknownFields,
		OmitToolVersion:       isTrue(g.OmitToolVersion),
		Recursive:             true,
	}
}

func isTrue(option *bool) bool { return option != nil && *option }

func patchSchemas(dir string, g schemapatcher.Generator, ctx genall.GenerationContext) error {
	names, err := manifestNames(dir, g)
	if err != nil {
		return err
	}
	options := schemapatch.Options{Folder: filepath.ToSlash(g.ManifestsPath), SchemaOptions: ourcrd.SchemaOptions{
		MaxDescLen:         g.MaxDescLen,
		EmbeddedObjectMeta: isTrue(g.GenerateEmbeddedObjectMeta),
	}}
	for _, name := range names {
		content, err := ctx.ReadFile(filepath.Join(g.ManifestsPath, name))
		if err != nil {
			return err
		}
		options.Manifests = append(options.Manifests, schemapatch.Manifest{Name: name, Content: content})
	}
	return schemapatch.Write(ctx, options)
}

// manifestNames returns the names of the manifests that are patched.
func manifestNames(dir string, g schemapatcher.Generator) ([]string, error) {
	folder := g.ManifestsPath
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(dir, folder)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, readError(g.ManifestsPath, err)
	}
	var names []string
	for _, entry := range entries {
		if !entry.IsDir() && filepath.Ext(entry.Name()) == ".yaml" {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}
