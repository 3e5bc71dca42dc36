// Package scaffold plans the changes that commands make to a project. A command checks its options, changes PROJECT,
// and has the packages below plan what follows: [PlanInit] begins a project, [PlanAPI], [PlanController] and
// [PlanWebhook] add features, [PlanDeleteAPI] and others remove them, [PlanEdit] and [PlanRenameKind] change what
// exists. [PlanLists] lists what generators wrote.
//
// All of them only read, and return errors with positions. Package plan applies the result whole.
package scaffold
