// Package simulate compiles the program of a project together with the simulator, and runs it.
//
// The compiler adds a file to the project's main package (go build -overlay). It reads go.mod and go.sum from the
// user's cache (-modfile); these also require the modules of the test server. The project itself therefore does not
// change. In the compiled program, manager.Main runs simulations; see package testserver/simulator.
package simulate
