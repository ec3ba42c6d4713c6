// Package lineedit reads statements of one or more lines from a terminal, with
// the keys of Emacs, a history, a search in it, completion and pastes that are
// taken as they are. It knows neither SQL nor files: what is ready to run, what
// can be completed and what was typed before comes from the caller.
//
// keys.go (bytes to keys), edit.go (keys to changes of the text), history.go,
// menu.go (completion), layout.go and draw.go (the text on the screen), editor.go
// (all of them, one statement at a time).
//
// Floor F7. The SQL shell of internal/cli is built on it.
package lineedit
