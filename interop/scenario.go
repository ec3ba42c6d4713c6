package interop

import (
	"encoding/json"
	"fmt"
	"os"
)

// Scenario is a list of operations on tables, which every implementation here
// can carry out, each as far as it goes. Rows are in canonical form.
type Scenario struct {
	Name  string            `json:"name"`
	What  string            `json:"what"`
	Table string            `json:"table"` // of operations that name none
	Ops   []json.RawMessage `json:"ops"`

	text json.RawMessage
}

// LoadScenario reads a scenario file.
func LoadScenario(path string) (*Scenario, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading scenario: %w", err)
	}
	s, err := ParseScenario(text)
	if err != nil {
		return nil, fmt.Errorf("%w. path=%s", err, path)
	}
	return s, nil
}

// ParseScenario reads a scenario's text. Operations are not looked into.
func ParseScenario(text []byte) (*Scenario, error) {
	s := &Scenario{Table: "db.t", text: text}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("reading scenario: %w", err)
	}
	return s, nil
}

// MarshalJSON gives the scenario as it was read, with all its fields.
func (s *Scenario) MarshalJSON() ([]byte, error) { return s.text, nil }
