package registry

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/version"
)

// Stage is the maturity of a feature.
type Stage string

// Stages of a feature, in their usual order.
const (
	Alpha      Stage = "ALPHA"
	Beta       Stage = "BETA"
	GA         Stage = "GA"
	Deprecated Stage = "DEPRECATED"
)

// Gates that set all gates of a stage, except gates that are set by their own name.
const (
	allAlpha = "AllAlpha"
	allBeta  = "AllBeta"
)

// GateSpec specifies a feature gate from one version of the program on.
type GateSpec struct {
	// Since is the first version to which the specification applies, such as "1.2".
	Since string
	// Stage is the maturity of the feature in these versions.
	Stage Stage
	// Default is the state of the gate if the user does not set it.
	Default bool
	// Locked means that users cannot change the default, for example because the feature is GA.
	Locked bool
}

// FeatureGate is a switch for a feature of the program.
type FeatureGate struct {
	// Name is the name of the gate, such as "FastSync".
	Name string
	// Specs are its specifications by version, in any order.
	Specs []GateSpec
}

// FeatureGates are the feature gates of a program, in the version that it emulates. The zero value has no gates. All
// methods are safe for concurrent use.
type FeatureGates struct {
	mu     sync.Mutex
	binary *version.Version // nil means newer than all versions
	// emulated is the version whose specs apply; nil means binary.
	emulated *version.Version
	gates    map[string][]spec // constant after New
	set      map[string]bool   // by the user
}

// spec is a GateSpec with its version.
type spec struct {
	GateSpec
	since *version.Version
}

// newFeatureGates returns the gates of a program. of is the version of the program; empty means newer than all
// versions.
func newFeatureGates(of string, gates []FeatureGate) (*FeatureGates, error) {
	f := &FeatureGates{gates: map[string][]spec{}, set: map[string]bool{}}
	var errs []error
	if of != "" {
		var err error
		if f.binary, err = version.Parse(of); err != nil {
			errs = append(errs, fmt.Errorf("version of the program: %w", err))
		}
	}
	for _, gate := range gates {
		errs = append(errs, f.add(gate))
	}
	return f, errors.Join(errs...)
}

func (f *FeatureGates) add(gate FeatureGate) error {
	switch _, twice := f.gates[gate.Name]; {
	case gate.Name == "":
		return errors.New("there is a feature gate without a name")
	case strings.ContainsAny(gate.Name, "=, \t"):
		return fmt.Errorf("feature gate %q cannot be written on a command line", gate.Name)
	case gate.Name == allAlpha || gate.Name == allBeta:
		return fmt.Errorf("feature gate %s is reserved for all gates of a stage", gate.Name)
	case twice:
		return fmt.Errorf("feature gate %s is duplicated", gate.Name)
	case len(gate.Specs) == 0:
		return fmt.Errorf("feature gate %s has no spec", gate.Name)
	}
	var specs []spec
	for _, s := range gate.Specs {
		since, err := version.Parse(s.Since)
		if err != nil {
			return fmt.Errorf("feature gate %s: %w", gate.Name, err)
		}
		if !slices.Contains([]Stage{Alpha, Beta, GA, Deprecated}, s.Stage) {
			return fmt.Errorf("feature gate %s: unknown stage %q", gate.Name, s.Stage)
		}
		if slices.ContainsFunc(specs, func(other spec) bool { return other.since.EqualTo(since) }) {
			return fmt.Errorf("feature gate %s has two specs since %s", gate.Name, s.Since)
		}
		specs = append(specs, spec{s, since})
	}
	slices.SortFunc(specs, func(a, b spec) int {
		if a.since.LessThan(b.since) {
			return -1
		}
		return 1
	})
	f.gates[gate.Name] = specs
	return nil
}

// Enabled reports whether a feature is enabled. It returns false for an unknown gate, and for a gate that the emulated
// version does not have yet.
func (f *FeatureGates) Enabled(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, there := f.specLocked(name)
	if !there {
		return false
	}
	if s.Locked {
		return s.Default
	}
	if on, set := f.set[name]; set {
		return on
	}
	for stage, all := range map[Stage]string{Alpha: allAlpha, Beta: allBeta} {
		if on, set := f.set[all]; set && s.Stage == stage {
			return on
		}
	}
	return s.Default
}

// specLocked returns the effective spec of a gate, which is the last spec that is not newer than the emulated version.
func (f *FeatureGates) specLocked(name string) (spec, bool) {
	at := cmp.Or(f.emulated, f.binary)
	for _, s := range slices.Backward(f.gates[name]) {
		if at == nil || !isNewer(s.since, at) {
			return s, true
		}
	}
	return spec{}, false
}

// isNewer reports whether a has a higher minor version than b. It ignores patch versions.
func isNewer(a, b *version.Version) bool {
	return a.Major() > b.Major() || a.Major() == b.Major() && a.Minor() > b.Minor()
}

// known returns an error if no version has the gate. The error suggests the most similar name.
func (f *FeatureGates) known(name string) error {
	if _, known := f.gates[name]; known {
		return nil
	}
	return fmt.Errorf("unknown feature gate %q%s", name, didYouMean(name, slices.Sorted(maps.Keys(f.gates))))
}

// parseGates parses the value of --feature-gates, such as "FastSync=true,AllBeta=false". An unknown gate is an error.
func (f *FeatureGates) parseGates(text string) (map[string]bool, error) {
	set := map[string]bool{}
	var errs []error
	for item := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(item) == "" {
			continue // an empty item sets nothing
		}
		name, value, found := strings.Cut(strings.TrimSpace(item), "=")
		on, err := strconv.ParseBool(strings.TrimSpace(value))
		switch {
		case !found:
			errs = append(errs, fmt.Errorf("feature gate %q: want %s=true or %s=false", name, name, name))
		case err != nil:
			errs = append(errs, fmt.Errorf("feature gate %s: want true or false, got %q", name, value))
		case name != allAlpha && name != allBeta:
			errs = append(errs, f.known(name))
		}
		set[name] = on
	}
	return set, errors.Join(errs...)
}

// apply sets the emulated version and then the gates in set. An empty version means the version of the program. apply
// returns warnings for the user.
func (f *FeatureGates) apply(set map[string]bool, emulated string) (warnings []string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	if emulated != "" {
		v, err := version.Parse(emulated)
		switch {
		case err != nil:
			return nil, fmt.Errorf("emulated version: %w", err)
		case f.binary == nil:
			return nil, fmt.Errorf("emulated version %s: the program has no version", emulated)
		case isNewer(v, f.binary):
			return nil, fmt.Errorf("emulated version %s: the program is version %s", emulated, f.binary)
		}
		f.emulated = v
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		on := set[name]
		s, there := f.specLocked(name)
		switch {
		case name == allAlpha || name == allBeta:
		case !there:
			errs = append(errs, fmt.Errorf("feature gate %s is not there before version %s", name, f.gates[name][0].Since))
		case s.Locked && on != s.Default:
			errs = append(errs, fmt.Errorf("feature gate %s cannot be %t: it is %s, and locked to %t", name, on, s.Stage,
				s.Default))
		case s.Stage == GA:
			warnings = append(warnings, fmt.Sprintf("feature gate %s is GA, and will be removed; leave it out", name))
		case s.Stage == Deprecated:
			warnings = append(warnings, fmt.Sprintf("feature gate %s is deprecated, and will be removed", name))
		}
		f.set[name] = on
	}
	return warnings, errors.Join(errs...)
}

// describe lists the gates for --help, in the version of the program, except those that cannot be changed.
func (f *FeatureGates) describe() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	lines := []string{"`gates` to switch, separated by commas:", allAlpha + "=true|false (ALPHA - default=false)",
		allBeta + "=true|false (BETA - default=false)"}
	for _, name := range slices.Sorted(maps.Keys(f.gates)) {
		if s, there := f.specLocked(name); there && !s.Locked {
			lines = append(lines, fmt.Sprintf("%s=true|false (%s - default=%t)", name, s.Stage, s.Default))
		}
	}
	return strings.Join(lines, "\n")
}

func (f *FeatureGates) all() map[string]bool {
	on := map[string]bool{}
	for name := range f.gates {
		on[name] = f.Enabled(name)
	}
	return on
}
