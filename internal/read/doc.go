// Package read turns splits into batches: it opens their files, merges what
// overlaps, applies the rest of the predicate exactly, projects, and runs
// several splits side by side under the memory budget.
//
// Floor F4. The last step of the walk.
package read
