// Package scaffold plans the changes that commands make to a project. Each function checks its options, changes the
// PROJECT file, and plans the files with the packages below this one. [PlanInit] starts a project. [PlanAPI],
// [PlanController] and [PlanWebhook] add features, and [PlanDeleteAPI] and similar functions remove them. [PlanEdit]
// and [PlanRenameKind] change existing features. [PlanLists] adds generated files to kustomizations.
//
// All functions only read files, and return errors with positions. Package plan applies the result as a whole.
package scaffold
