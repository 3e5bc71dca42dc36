package load

// Config says what to load.
type Config struct {
	// Dir is the folder of the project, an absolute path. Positions and files are relative to it.
	Dir string
	// Overlay replaces files on disk, by absolute path. Nil content stands for a file that does not exist.
	Overlay map[string][]byte
	// Patterns say which packages: folders relative to Dir such as "./api/v1", or trees such as "./...". Import paths of
	// modules below Dir are understood too. A tree ends where another module begins. None means "./...".
	Patterns []string
	// Lenient loads as controller-gen does: trees without packages are left to [Program.Unmatched] if other patterns match,
	// and a marker counts only where controller-gen looks.
	Lenient bool
}
