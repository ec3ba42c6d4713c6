// Package lsm holds the merge tree's decisions over file metadata, all pure:
// which files form sorted runs, which runs overlap, what lies on which level.
//
// Floor F3. Plans and reads take sections from it, compaction its levels.
package lsm
