// Package lint holds the house rules as Go tests: the floors, the ban list,
// names, file lengths, package comments, the dependencies of library users and
// the exported API.
//
// Tests only. The rules are data where they can be: testdata/floors.txt,
// testdata/deps.txt and docs/api.txt. The last two are rewritten by
//
//	go test ./internal/lint -update
package lint
