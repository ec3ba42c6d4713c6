package schema

// Validate checks a schema.
func (s *Schema) Validate() error { return nil }
