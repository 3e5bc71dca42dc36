package recorder

type Provider interface {
	GetEventRecorderFor(name string) any
}
