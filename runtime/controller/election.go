package controller

// MainGroup is the leader election group of everything that names none. Its lease has the name of the operator.
const MainGroup = "main"

// Election says in which process a controller runs, when managers elect leaders. The zero value is in that of the
// leader of [MainGroup].
type Election struct {
	// Off runs the controller in every process.
	Off bool
	// Group is the group whose leader runs the controller. Each group has a lease of its own, so that the controllers
	// of an operator can be spread over its replicas. Empty is MainGroup.
	Group string
	// MigratesFrom is the group that the controller was in before it was in Group. For the release in which it moves, it
	// runs only in a process that leads both, which takes the lease of MigratesFrom first: then neither a process of the
	// release before, which has it in the old group, nor one of the release after, which knows only the new one, runs
	// the controller at the same time. In the release after it is left empty. All of Group waits for MigratesFrom.
	// Empty is no migration.
	MigratesFrom string
}

// NeedLeaderElection reports whether the controller runs only in the process of a leader.
func (c *Controller[R]) NeedLeaderElection() bool { return !c.opts.Election.Off }

// LeaderElectionGroup returns the group whose leader runs the controller, empty for [MainGroup].
func (c *Controller[R]) LeaderElectionGroup() string { return c.opts.Election.Group }

// LeaderElectionMigratesFrom returns the group that the controller migrates from, empty when it does not.
func (c *Controller[R]) LeaderElectionMigratesFrom() string { return c.opts.Election.MigratesFrom }
