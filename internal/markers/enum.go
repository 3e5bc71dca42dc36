package markers

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/markers"
)

// Enum is the value of an Enum marker, with the same meaning as the type in controller-tools. controller-tools' parser
// copies the rest of the text for each value, which takes minutes for a hundred thousand generated values. Enum
// therefore passes the text to the parser in parts.
type Enum []any

// enumPart is the number of values per part.
const enumPart = 64

// ShortenEnums makes a registry parse Enum markers in time linear in the number of their values.
func ShortenEnums(registry *markers.Registry) error {
	for _, definition := range registry.AllDefinitions() {
		if _, ok := enumDefinitions[definition.Name]; !ok {
			continue
		}
		short, err := markers.MakeDefinition(definition.Name, definition.Target, Enum(nil))
		if err != nil {
			return err
		}
		if err := registry.Register(short); err != nil {
			return err
		}
		if help := registry.HelpFor(definition); help != nil {
			registry.AddHelp(short, help)
		}
	}
	return nil
}

// enumDefinitions are the definitions of controller-tools.
var enumDefinitions = func() map[string]*markers.Definition {
	found := map[string]*markers.Definition{}
	for _, name := range []string{"kubebuilder:validation:Enum", crdmarkers.ValidationItemsPrefix + "Enum"} {
		found[name] = markers.Must(markers.MakeDefinition(name, markers.DescribesField, crdmarkers.Enum(nil)))
	}
	return found
}()

// ParseMarker parses the values of the marker, which are the text in fields.
func (e *Enum) ParseMarker(_, name, fields string) error {
	definition := enumDefinitions[name]
	if definition == nil {
		definition = enumDefinitions["kubebuilder:validation:Enum"]
	}
	if parts, ok := enumParts(fields, enumPart); ok && e.parse(definition, parts) == nil {
		return nil
	}
	// Parsing the whole text reports the position of an invalid value.
	return e.parse(definition, []string{fields})
}

// parse parses the values in the parts of a text.
func (e *Enum) parse(definition *markers.Definition, parts []string) error {
	*e = nil
	for _, part := range parts {
		value, err := definition.Parse("+" + definition.Name + "=" + part)
		if err != nil {
			return err
		}
		values, _ := value.(crdmarkers.Enum)
		*e = append(*e, values...)
	}
	return nil
}

// enumParts splits a list, {a,b} or a;b, into lists of size values. It returns false for a short list, and for a text
// that is not a list of plain values.
func enumParts(fields string, size int) (parts []string, ok bool) {
	separator, begin, end := byte(';'), "", ""
	if inner, braced := strings.CutPrefix(fields, "{"); braced && strings.HasSuffix(inner, "}") {
		separator, begin, end, fields = ',', "{", "}", strings.TrimSuffix(inner, "}")
	}
	var quote byte
	first, last, count := 0, 0, 0 // first is the start of the part, last the start of the value
	for i := 0; i < len(fields); i++ {
		switch b := fields[i]; {
		case quote == '"' && b == '\\':
			i++
		case quote != 0:
			if b == quote {
				quote = 0
			}
		case b == '"' || b == '`':
			quote = b
		case b == separator:
			if strings.TrimSpace(fields[last:i]) == "" {
				return nil, false
			}
			last = i + 1
			if count++; count%size == 0 {
				parts, first = append(parts, begin+fields[first:i]+end), i+1
			}
		case strings.IndexByte(",;{}", b) >= 0:
			return nil, false
		}
	}
	if quote != 0 || count < size || strings.TrimSpace(fields[last:]) == "" {
		return nil, false
	}
	return append(parts, begin+fields[first:]+end), true
}

// ApplyToSchema adds the values to a schema.
func (e Enum) ApplyToSchema(ctx *crdmarkers.SchemaContext, schema *apiextensionsv1.JSONSchemaProps) error {
	return crdmarkers.Enum(e).ApplyToSchema(ctx, schema)
}
