// Package simulator runs an operator against planned faults, in virtual time.
//
// A simulation starts the whole operator (manager, caches, leader election, webhooks) and an API server in memory in
// one synctest bubble. A reference run without faults shows what the operator writes and which events it receives.
// [Plans] makes a [Plan] for each fault at each of these places: a crash before or after a write, a lost answer, a
// conflict, an error of the server, late, cut or merged events, and actions of the user between two writes. [Run]
// carries out one plan, and [Check] compares its result with that of the reference: an operator that is correct reaches
// the same state.
//
// Requests and events pass a gate one at a time. The gate waits until all goroutines of the bubble block, and then lets
// the operation pass that the seed selects. So the order of operations depends on the seed alone.
//
// Faults are injected into the transport; the operator's code is not changed. A crash cuts the process off from the
// server: later requests of the process fail, and a new process with empty caches starts after a second.
package simulator
