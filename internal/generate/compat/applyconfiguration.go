package compat

import (
	"fmt"
	"go/ast"
	"strconv"
	"strings"
	"time"

	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/kctrl-dev/kctrl/internal/generate/applyconfig"
	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
)

// ApplyConfiguration has the options of the generator of apply configurations.
type ApplyConfiguration struct {
	HeaderFile                  string   `marker:",optional"`
	ExternalApplyConfigurations []string `marker:",optional"`
	OmitToolVersion             *bool    `marker:",optional"`
}

var (
	_ genall.NeedsTypeChecking = ApplyConfiguration{}
	_ genall.HasHelp           = ApplyConfiguration{}
)

// RegisterMarkers adds the markers that the generator reads.
func (ApplyConfiguration) RegisterMarkers(into *markers.Registry) error {
	for _, m := range []struct {
		name    string
		target  markers.TargetType
		value   any
		summary string
	}{
		{applyconfig.GenerateMarker, markers.DescribesPackage, false, "enables apply configurations for the kinds of this package"},
		{applyconfig.GenerateMarker, markers.DescribesType, false, "enables or disables the apply configuration of this type"},
		{applyconfig.OutputMarker, markers.DescribesPackage, "", "names the folder of the code, relative to the package"},
	} {
		definition, err := markers.MakeDefinition(m.name, m.target, m.value)
		if err != nil {
			return err
		}
		if err := into.Register(definition); err != nil {
			return err
		}
		into.AddHelp(definition, markers.SimpleHelp("apply", m.summary))
	}
	return crdmarkers.Register(into)
}

// CheckFilter keeps interfaces from being checked.
func (ApplyConfiguration) CheckFilter() loader.NodeFilter {
	return func(node ast.Node) bool {
		_, isInterface := node.(*ast.InterfaceType)
		return !isInterface
	}
}

// Help documents the options.
func (ApplyConfiguration) Help() *markers.DefinitionHelp {
	return &markers.DefinitionHelp{
		DetailedHelp: markers.DetailedHelp{Summary: "generates apply configurations of the kinds in packages that ask for them"},
		FieldHelp: map[string]markers.DetailedHelp{
			"HeaderFile":                  {Summary: "names the file with the text that generated code begins with"},
			"ExternalApplyConfigurations": {Summary: "says where apply configurations of other types are, as <package>.<type>@<package>"},
			"OmitToolVersion":             {Summary: "has no effect: the code never names a version"},
		},
	}
}

// Generate writes the code beside the packages, whatever the output rule says.
func (a ApplyConfiguration) Generate(ctx *genall.GenerationContext) error {
	files, err := a.files(*ctx)
	if err != nil {
		return err
	}
	rule, ok := ctx.OutputRule.(memory)
	if !ok {
		return fmt.Errorf("apply configurations: unknown output rule %T", ctx.OutputRule)
	}
	for _, f := range files {
		if _, err := rule.file("", f.Path).Write(f.Content); err != nil {
			return err
		}
	}
	return nil
}

func (a ApplyConfiguration) files(ctx genall.GenerationContext) ([]artifact.File, error) {
	options := applyconfig.Options{Year: thisYear(), External: map[string]string{}}
	for _, external := range a.ExternalApplyConfigurations {
		name, pkg, ok := strings.Cut(external, "@")
		if !ok {
			return nil, usage(
				fmt.Sprintf("external apply configuration %q has no @", external),
				"write <package>.<type>@<package>, as in k8s.io/api/core/v1.Toleration@k8s.io/client-go/applyconfigurations/core/v1",
			)
		}
		options.External[name] = pkg
	}
	if a.HeaderFile != "" {
		text, err := ctx.ReadFile(a.HeaderFile)
		if err != nil {
			return nil, err
		}
		options.Header = string(text)
	}
	return applyconfig.Generate(ctx, options)
}

// thisYear is what controller-gen writes for YEAR in the header of apply configurations.
func thisYear() string { return strconv.Itoa(time.Now().UTC().Year()) }
