package main

// outputFormat is the value of -o.
type outputFormat string

const (
	outputText outputFormat = "text"
	outputJSON outputFormat = "json"
)

// String returns the format as the flag accepts it.
func (o *outputFormat) String() string { return string(*o) }

// Set accepts "text" and "json".
func (o *outputFormat) Set(value string) error {
	switch outputFormat(value) {
	case outputText, outputJSON:
		*o = outputFormat(value)
		return nil
	}
	return usageError("want text or json")
}

// Type returns the type of the flag, for pflag.
func (o *outputFormat) Type() string { return "format" }
