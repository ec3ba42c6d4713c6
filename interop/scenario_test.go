package interop

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestWrittenLines(t *testing.T) {
	s, err := ParseScenario([]byte(`{"ops":[
		{"op":"create_table","columns":[["a","INT"],["m","MAP<INT, STRING>","a comment"]]},
		{"op":"write","rows":[["+I", 2, null], ["+I", 1, [[1, "x y"]]]]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.WrittenLines()
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{`{"a":1,"m":[[1,"x y"]]}`, `{"a":2,"m":null}`}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if s.Table != "db.t" {
		t.Errorf("default table is %s", s.Table)
	}
	for _, ops := range []string{`{"op":"compact"}`, `{"op":"write","rows":[["+I",1]]}`, `7`} {
		s, err := ParseScenario([]byte(`{"ops":[` + ops + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.WrittenLines(); err == nil {
			t.Errorf("%s: want an error, got %q", ops, got)
		}
	}
}

func TestScenarioKeepsItsText(t *testing.T) {
	text := `{"ops":[{"op":"write","rows":[["+I",-0.0]]}],"time_travel":true}`
	s, err := ParseScenario([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(s)
	if err != nil || string(got) != text {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := ParseScenario([]byte(`{"ops":3}`)); err == nil {
		t.Error("a scenario whose ops are a number was read")
	}
	if _, err := LoadScenario("testdata/none.json"); err == nil {
		t.Error("a missing file was read")
	}
}
