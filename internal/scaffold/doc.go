// Package scaffold is what commands do to a project. [PlanInit] starts one and [PlanAPI] adds a kind to it; [PlanRegistration],
// [PlanRuntime] and [PlanLists] have everything else follow what is there. All of them only read, and say what should change
// in a plan of package plan, which is then applied whole.
//
// The project itself is package project's. Files that belong to the user are changed by package edit.
package scaffold
