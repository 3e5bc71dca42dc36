// Package simulate compiles the program of a project together with the simulator, and runs it.
//
// The program is compiled from the project's main package and one more file, which only the compiler sees (go build
// -overlay). Its go.mod and go.sum, which also require the modules of the test server, lie in the user's cache
// (-modfile). So the project does not change. In the program, manager.Main runs simulations; see package
// testserver/simulator.
package simulate
