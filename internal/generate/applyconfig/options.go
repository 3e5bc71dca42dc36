package applyconfig

import (
	"errors"
	"fmt"
	"go/ast"
	"strconv"
	"strings"
	"time"

	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
)

// Options are the options of kctrl gen, with the names of controller-gen.
type Options struct {
	HeaderFile                  string   `marker:",optional"`
	ExternalApplyConfigurations []string `marker:",optional"`
	OmitToolVersion             *bool    `marker:",optional"`
}

var (
	_ genall.NeedsTypeChecking = Options{}
	_ genall.HasHelp           = Options{}
)

// RegisterMarkers adds the markers of the generator.
func (Options) RegisterMarkers(into *markers.Registry) error {
	for _, m := range []struct {
		name    string
		target  markers.TargetType
		value   any
		summary string
	}{
		{generateMarker, markers.DescribesPackage, false, "enables apply configurations for the kinds of this package"},
		{generateMarker, markers.DescribesType, false, "enables or disables the apply configuration of this type"},
		{outputMarker, markers.DescribesPackage, "", "sets the directory of the code, relative to the package"},
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

// CheckFilter excludes interfaces from type checking.
func (Options) CheckFilter() loader.NodeFilter {
	return func(node ast.Node) bool {
		_, isInterface := node.(*ast.InterfaceType)
		return !isInterface
	}
}

// Help documents the options.
func (Options) Help() *markers.DefinitionHelp {
	return &markers.DefinitionHelp{
		DetailedHelp: markers.DetailedHelp{Summary: "generates apply configurations of the kinds in packages with the marker"},
		FieldHelp: map[string]markers.DetailedHelp{
			"HeaderFile": {Summary: "sets the file with the header of generated code"},
			"ExternalApplyConfigurations": {Summary: "sets the packages of apply configurations of other types, as " +
				"<package>.<type>@<package>"},
			"OmitToolVersion": {Summary: "has no effect: the code contains no version"},
		},
	}
}

// Generate returns an error, because [Generator] generates the code.
func (Options) Generate(*genall.GenerationContext) error { return errors.ErrUnsupported }

// settings are the parsed options.
type settings struct {
	// header is the beginning of each file.
	header string
	// external has the packages of apply configurations that are not generated here, by qualified type:
	// "k8s.io/api/core/v1.LocalObjectReference".
	external map[string]string
}

func (o Options) settings(in generator.Input) (settings, error) {
	found := settings{external: map[string]string{}}
	for _, external := range o.ExternalApplyConfigurations {
		separator := "@"
		if in.Strict {
			separator = "="
		}
		name, pkg, ok := strings.Cut(external, separator)
		if !ok {
			return settings{}, diagnostic.Usage(
				fmt.Sprintf("external apply configuration %q has no %s", external, separator),
				fmt.Sprintf("write <package>.<type>%[1]s<package>, as in k8s.io/api/core/v1.Toleration%[1]s"+
					"k8s.io/client-go/applyconfigurations/core/v1", separator))
		}
		found.external[name] = pkg
	}
	if o.HeaderFile == "" {
		return found, nil
	}
	text, err := in.ReadFile(o.HeaderFile)
	if err != nil {
		return settings{}, err
	}
	year := in.Year
	if !in.Strict {
		year = thisYear()
	}
	found.header = strings.ReplaceAll(string(text), "YEAR", year)
	return found, diagnostic.CodeHeader(o.HeaderFile, found.header)
}

// thisYear is the value that controller-gen writes for YEAR in the header of apply configurations.
func thisYear() string { return strconv.Itoa(time.Now().UTC().Year()) }
