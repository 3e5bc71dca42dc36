package markers

// Config says what to load.
type Config struct {
	// Dir is the folder of the project, an absolute path. Positions and files are relative to it.
	Dir string
	// Overlay replaces files on disk, by absolute path. Nil content stands for a file that does not exist.
	Overlay map[string][]byte
	// Patterns say which packages: folders relative to Dir such as "./api/v1", or trees such as "./...". Import paths of
	// modules below Dir are understood too. A tree ends where another module begins. None means "./...".
	Patterns []string
	// AllowUnknown are prefixes of markers that are no mistake although no generator knows them, with or without the
	// leading "+".
	AllowUnknown []string
	// Lenient makes Load return only errors that keep controller-gen from working too. What else is wrong with markers
	// is left to [Program.Findings], and patterns that match nothing beside others that do to [Program.Unmatched].
	Lenient bool
	// Warn is told of findings that do not make Load fail, in the order of position. Nil means nobody is.
	Warn func(Finding)
}
