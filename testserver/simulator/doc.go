// Package simulator runs an operator against planned faults, in virtual time.
//
// A simulation starts the whole operator (manager, caches, leader election, webhooks) and an in-memory API server in
// one synctest bubble. A reference run without faults records the operator's writes and the events that it receives.
// [Plans] returns a [Plan] for each fault at each of these writes and events: a crash before or after a write, a lost
// response, a conflict, a server error, late, cut or merged events, and actions of the user between two writes. [Try]
// carries out one plan, and [Check] compares its result with the reference: a correct operator reaches the same state.
//
// Requests and events pass a gate one at a time. The gate waits until all goroutines of the bubble block, and then lets
// one operation pass, which the seed selects. The order of operations therefore depends only on the seed.
//
// The transport injects the faults; the operator's code is not changed. A crash cuts the process off from the server:
// later requests of the process fail, and a new process with empty caches starts after a second.
package simulator
