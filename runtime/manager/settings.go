package manager

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode"

	"sigs.k8s.io/yaml"
)

// envPrefix returns the prefix of a program's environment variables, or Off if the program reads none.
func envPrefix(given, program string) string {
	return cmp.Or(given, strings.ToUpper(strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_'
	}, program)))
}

// envName returns the environment variable of a flag.
func envName(prefix, flag string) string {
	return prefix + "_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// setFromEnv sets the flags whose variables are not empty, except those in given, and adds them to given.
func setFromEnv(flags *flag.FlagSet, env lookup, prefix string, given map[string]bool) error {
	if prefix == Off {
		return nil
	}
	var wrong error
	flags.VisitAll(func(f *flag.Flag) {
		name := envName(prefix, f.Name)
		value, _ := env(name)
		if value == "" || wrong != nil || given[f.Name] {
			return
		}
		given[f.Name] = true
		if err := flags.Set(f.Name, value); err != nil {
			wrong = fmt.Errorf("invalid value %q for $%s: %w", value, name, err)
		}
	})
	return wrong
}

// setFromFile sets the flags in a YAML file, except those in given. Errors have positions.
func setFromFile(flags *flag.FlagSet, path string, given map[string]bool) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	fields, err := parseFields(content)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var wrong []fieldError
	for name, value := range fields {
		if err := setField(flags, name, value, given); err != nil {
			line, column := position(content, name)
			wrong = append(wrong, fieldError{line, column, err})
		}
	}
	slices.SortFunc(wrong, func(a, b fieldError) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	var errs []error
	for _, e := range wrong {
		errs = append(errs, fmt.Errorf("%s:%d:%d: %w", path, e.line, e.column, e.err))
	}
	return errors.Join(errs...)
}

// fieldError is an error at a position of the file.
type fieldError struct {
	line, column int
	err          error
}

func setField(flags *flag.FlagSet, name string, value any, given map[string]bool) error {
	if name == configFlag || flags.Lookup(name) == nil {
		return fmt.Errorf("unknown field %q", name)
	}
	text, err := scalar(value)
	if err == nil && !given[name] {
		err = flags.Set(name, text)
	}
	if err != nil {
		quoted, _ := json.Marshal(value) // values from a file can always be encoded
		return fmt.Errorf("invalid value %s for %s: %w", quoted, name, err)
	}
	return nil
}

// scalar returns a value from the file in the syntax of the command line.
func scalar(value any) (string, error) {
	switch value := value.(type) {
	case string:
		return value, nil
	case bool, json.Number:
		return fmt.Sprint(value), nil
	case []any:
		var all []string
		for _, item := range value {
			text, ok := item.(string)
			if !ok {
				return "", errors.New("want a list of strings")
			}
			all = append(all, text)
		}
		return strings.Join(all, ","), nil
	}
	return "", errors.New("want a string, a number, a boolean or a list")
}

// position returns the position of a field in the mapping: it parses growing parts of the file until the field appears.
func position(content []byte, name string) (line, column int) {
	var begun []byte
	for text := range bytes.Lines(content) {
		line++
		begun = append(begun, text...)
		if fields, err := parseFields(begun); err != nil {
			continue
		} else if _, has := fields[name]; has {
			return line, max(0, bytes.Index(text, []byte(name))) + 1
		}
	}
	return 1, 1
}

// parseFields returns the fields of a YAML mapping. Numbers keep their notation.
func parseFields(content []byte) (map[string]any, error) {
	text, err := yaml.YAMLToJSONStrict(content)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var document any
	if err := decoder.Decode(&document); err != nil {
		return nil, err
	}
	fields, ok := document.(map[string]any)
	if !ok && document != nil {
		return nil, fmt.Errorf("want fields such as log-level: debug, got %s", text)
	}
	return fields, nil
}
