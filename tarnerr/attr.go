package tarnerr

import "errors"

// Attribute returns the value of the outermost attribute named key in err's
// chain of classified errors.
func Attribute(err error, key string) (any, bool) {
	for {
		e, ok := err.(*Error)
		if !ok {
			return nil, false
		}
		for _, a := range e.Attr {
			if a.Key == key {
				return a.Value, true
			}
		}
		err = e.Err
	}
}

// Hint is the way out that the outermost error with one in err's chain gives, ""
// when none does.
func Hint(err error) string {
	var e *Error
	for errors.As(err, &e) {
		if e.Hint != "" {
			return e.Hint
		}
		err = e.Err
	}
	return ""
}
