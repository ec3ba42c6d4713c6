package tarnerr

import (
	"errors"
	"fmt"
	"strings"
)

// Error is a classified error. Its text reads
//
//	gerund and object: cause. key=value key=value. Way out.
//
// for example "reading manifest list: unexpected EOF. path=/w/db.db/t/manifest/manifest-list-1 offset=120".
type Error struct {
	Kind Kind
	Op   string // gerund and object: "reading manifest list"
	Err  error  // cause, may be nil
	Attr []Attr // the place: path, offset, column, row, value
	Hint string // the way out, one sentence; may be empty
}

// Attr is one named value of an error's place.
type Attr struct {
	Key   string
	Value any
}

// New returns an error of kind k; op is a gerund and its object, cause a short
// text, kv alternating keys and values that say where.
func New(k Kind, op, cause string, kv ...any) *Error {
	var err error
	if cause != "" {
		err = text(cause)
	}
	return &Error{Kind: k, Op: op, Err: err, Attr: attrs(kv)}
}

// Wrap classifies err as kind k with the operation and the place added.
func Wrap(k Kind, op string, err error, kv ...any) *Error {
	return &Error{Kind: k, Op: op, Err: err, Attr: attrs(kv)}
}

// Trace adds an operation and a place to err and keeps its kind.
// It returns nil when err is nil.
func Trace(op string, err error, kv ...any) error {
	if err == nil {
		return nil
	}
	return Wrap(KindOf(err), op, err, kv...)
}

// WithHint sets the way out and returns e.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// Error implements error.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Err != nil {
		b.WriteString(": ")
		b.WriteString(strings.TrimSuffix(e.Err.Error(), "."))
	}
	if len(e.Attr) > 0 {
		b.WriteByte('.')
		for _, a := range e.Attr {
			fmt.Fprintf(&b, " %s=%v", a.Key, a.Value)
		}
	}
	if e.Hint != "" {
		b.WriteString(". ")
		b.WriteString(e.Hint)
	}
	return b.String()
}

// Unwrap returns the cause. Kinds below e do not show through it: an error has
// one kind, its outermost, so a Contention caused by a Conflict is no Conflict.
func (e *Error) Unwrap() error {
	if e.Err == nil {
		return nil
	}
	return masked{e.Err}
}

// Is reports whether target is the kind of e.
func (e *Error) Is(target error) bool {
	k, ok := target.(Kind)
	return ok && k == e.Kind
}

// masked hides the kinds of a cause and shows all else, such as context.Canceled.
type masked struct{ err error }

func (m masked) Error() string { return m.err.Error() }

func (m masked) Is(target error) bool {
	if _, ok := target.(Kind); ok {
		return false
	}
	return errors.Is(m.err, target)
}

func (m masked) As(target any) bool {
	switch target.(type) {
	case **Error, *Kind:
		return false
	}
	return errors.As(m.err, target)
}

type text string

func (t text) Error() string { return string(t) }

func attrs(kv []any) []Attr {
	out := make([]Attr, 0, len(kv)/2)
	for i := 0; i+1 < len(kv); i += 2 {
		out = append(out, Attr{Key: fmt.Sprint(kv[i]), Value: kv[i+1]})
	}
	return out
}
