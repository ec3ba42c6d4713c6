package tarnerr

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
