// Package scaffold plans the changes that commands make to a project. A command checks its options, changes PROJECT,
// and lets the packages below plan the files: [PlanInit] begins a project, [PlanAPI], [PlanController] and
// [PlanWebhook] add features, [PlanDeleteAPI] and others remove them, [PlanEdit] and [PlanRenameKind] change what
// exists. [PlanLists] lists generated files in kustomizations.
//
// All of them only read, and return errors with positions. Package plan applies the result as a whole.
package scaffold
