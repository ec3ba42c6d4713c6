// Package maintain removes what retention lets go: snapshots, decoupled changelogs,
// consumers that nobody uses, and the files that only they needed.
//
// Floor F4. [Expirer.Run] is the walk: range.go decides which ids go, by numbers
// alone; draft.go and plan.go find the files that may go with them, reach.go takes
// out what others still need; record.go keeps the plan on disk until it is carried out
// (carry.go), and the record of each run after it; delete.go is the one file that
// deletes. See docs/upkeep.md.
package maintain
