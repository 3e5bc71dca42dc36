module github.com/kctrl-dev/kctrl/vet/golangci

go 1.26.0

require (
	github.com/golangci/plugin-module-register v0.1.2
	github.com/kctrl-dev/kctrl v0.0.0
	golang.org/x/tools v0.51.0
)

replace github.com/kctrl-dev/kctrl => ../..
