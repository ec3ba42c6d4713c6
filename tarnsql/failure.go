//go:build cgo && !tarn_nosql

package tarnsql

import (
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/tarnlake/tarn/tarnerr"
)

// failure is an error of DuckDB, which it gives as JSON.
type failure struct {
	Type     string `json:"exception_type"`
	Message  string `json:"exception_message"`
	Position string `json:"position"`
}

func parseFailure(text string) failure {
	var f failure
	at := max(0, strings.Index(text, "{")) // of a text within a text the kind stands before
	if json.Unmarshal([]byte(text[at:]), &f) != nil || f.Message == "" {
		return failure{Message: text}
	}
	if at > 0 {
		f.Position = "" // in a text that nobody wrote
	}
	return f
}

// position is the byte of DuckDB's text that the error speaks of, -1 for none.
func (f failure) position() int {
	n, err := strconv.Atoi(f.Position)
	if err != nil {
		return -1
	}
	return n
}

var failureKinds = map[string]tarnerr.Kind{
	"Not implemented": tarnerr.Unsupported, "Permission": tarnerr.Denied, "IO": tarnerr.Unavailable,
	"INTERNAL": tarnerr.Internal, "FATAL": tarnerr.Internal, "Interrupt": tarnerr.Unavailable,
}

// error is f in the words of this engine; source, where known, maps its place to
// the text that the user wrote.
func (f failure) error(op string, source *edited) error {
	kind, ok := failureKinds[f.Type]
	if !ok {
		kind = tarnerr.Invalid
	}
	if f.Type == "IO" && noFile.MatchString(f.Message) {
		kind = tarnerr.NotFound
	}
	// DuckDB's own advice is about settings that are locked here.
	cause, _, _ := strings.Cut(strings.TrimSpace(f.Message), "\n\nPossible solutions")
	err := tarnerr.New(kind, op, shorten(blankLines.ReplaceAllString(cause, "\n")))
	switch f.Type {
	case "Out of Memory":
		err = err.WithHint("Raise the memory limit of SQL, or give it a temporary directory with room.")
	case "IO":
		if kind == tarnerr.NotFound {
			err = err.WithHint("The snapshot may have expired while it was read.")
		}
	case "Permission":
		err = err.WithHint("SQL reads the tables of the catalog alone; import files with `tarn table import`.")
	}
	if source == nil {
		return err
	}
	return withPlace(err, source, f.position())
}

var noFile = regexp.MustCompile(`No files found that match|No such file or directory`)

// shorten cuts a list of all the functions there are.
func shorten(cause string) string {
	const most = 8
	lines := strings.Split(cause, "\n")
	if len(lines) <= most {
		return cause
	}
	return strings.Join(append(lines[:most-1], "\t…"), "\n")
}

var blankLines = regexp.MustCompile(`\n{2,}`)

// placed is an error with the place in the user's text below it.
type placed struct {
	error
	place string
}

func (p *placed) Error() string { return p.error.Error() + p.place }
func (p *placed) Unwrap() error { return p.error }

// withPlace shows the place of an error, where it has one.
func withPlace(err error, source *edited, position int) error {
	if place := source.pointAt(position); place != "" {
		return &placed{err, place}
	}
	return err
}

// placeUnlessPlaced is withPlace for an error that may show its place already.
func placeUnlessPlaced(err error, source *edited, position int) error {
	var p *placed
	if errors.As(err, &p) {
		return err
	}
	return withPlace(err, source, position)
}
