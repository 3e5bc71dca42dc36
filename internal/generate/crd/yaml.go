package crd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
)

// printer writes definitions in their order. It formats some of them while the parser reads the next kind, because
// formatting takes longer than all other steps. Only one goroutine may use it, and that goroutine calls wait at the
// end.
type printer struct {
	ctx     genall.GenerationContext
	header  string
	options crd.Generator
	// printing are the definitions that are being formatted, in order: at most printsAtOnce of them.
	printing []<-chan printed
	err      error // the first one
}

type printed struct {
	documents []artifact.File
	err       error
}

const printsAtOnce = 4

// print starts to format a definition. The caller must not change the definition afterwards.
func (p *printer) print(definition apiextensionsv1.CustomResourceDefinition) {
	if len(p.printing) == printsAtOnce {
		p.write()
	}
	done := make(chan printed, 1)
	p.printing = append(p.printing, done)
	go func() {
		documents, err := printDefinition(definition, p.header, p.options)
		done <- printed{documents, err}
	}()
}

// wait writes all remaining definitions. After an error, it writes nothing.
func (p *printer) wait() error {
	for len(p.printing) > 0 {
		p.write()
	}
	return p.err
}

// write writes the first definition that is being formatted.
func (p *printer) write() {
	first := <-p.printing[0]
	p.printing = p.printing[1:]
	p.err = cmp.Or(p.err, first.err)
	for _, f := range first.documents {
		if p.err == nil {
			p.err = p.writeFile(f)
		}
	}
}

func (p *printer) writeFile(f artifact.File) error {
	out, err := p.ctx.Open(nil, f.Path)
	if err != nil {
		return err
	}
	_, err = out.Write(f.Content)
	return errors.Join(err, out.Close())
}

// marshalDefinition returns the YAML of a definition in a version of CustomResourceDefinition.
func marshalDefinition(definition apiextensionsv1.CustomResourceDefinition, version string,
	transforms []func(map[string]any) error) ([]byte, error) {
	text, written, err := writeDefinition(definition, version, transforms)
	if err != nil || written {
		return text, err
	}
	fields, err := fieldsOf(definition, version, transforms)
	if err != nil {
		return nil, err
	}
	return yaml.Marshal(fields)
}

// writeDefinition is like marshalDefinition without the library. It reports false if the library has to write the
// definition. The schemas, which are most of a definition, are not converted, because that does not change them.
func writeDefinition(definition apiextensionsv1.CustomResourceDefinition, version string,
	transforms []func(map[string]any) error) (text []byte, written bool, err error) {
	all := definition.Spec.Versions
	definition.Spec.Versions = slices.Clone(all)
	for i := range all {
		if all[i].Schema == nil || all[i].Schema.OpenAPIV3Schema == nil {
			return nil, false, nil
		}
		definition.Spec.Versions[i].Schema = &apiextensionsv1.CustomResourceValidation{}
	}
	fields, err := fieldsOf(definition, version, transforms)
	if err != nil {
		return nil, false, err
	}
	for i, v := range fields["spec"].(map[string]any)["versions"].([]any) {
		v.(map[string]any)["schema"] = map[string]any{"openAPIV3Schema": all[i].Schema.OpenAPIV3Schema}
	}
	text, written = writeYAML(fields)
	return text, written, nil
}

// fieldsOf returns the fields of a definition in a version of CustomResourceDefinition. The conversion through the
// internal version sets the API server's defaults.
func fieldsOf(definition apiextensionsv1.CustomResourceDefinition, version string,
	transforms []func(map[string]any) error) (map[string]any, error) {
	converted, err := crd.AsVersion(definition, schema.GroupVersion{Group: apiextensionsv1.GroupName, Version: version})
	if err != nil {
		return nil, &diagnostic.Error{
			Message: "cannot write CRDs in version " + version,
			Hint:    "v1 is the only version there is",
			Class:   diagnostic.ErrUsage,
			Cause:   err,
		}
	}
	text, err := json.Marshal(converted)
	if err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	for _, transform := range transforms {
		if err := transform(fields); err != nil {
			return nil, err
		}
	}
	return fields, nil
}
