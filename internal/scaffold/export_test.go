package scaffold

// WithInterface is withInterface.
var WithInterface = withInterface
