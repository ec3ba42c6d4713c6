package schema

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// javaCase is a table created, perhaps altered, by Java Paimon 1.4.2, with what
// Java said or wrote (testdata/java-1.4.2.jsonl).
type javaCase struct {
	Name   string
	Create struct {
		Columns       [][]string
		PrimaryKeys   []string `json:"primary_keys"`
		PartitionKeys []string `json:"partition_keys"`
		Options       map[string]string
		Comment       string
	}
	Alter  []map[string]json.RawMessage
	Data   bool   // the table held data when it was altered
	Java   string // Java's refusal
	Schema string // else the schema file, its timeMillis set to 0
}

// differently lists the cases in which Tarn answers otherwise on purpose.
var differently = map[string]string{
	"rowkind int":   "Java fails at the first write",
	"fallback none": "checked by Store, which can look for the branch",
	"set path":      "Java stores it and is misled by it, or its catalogs refuse it",
	"set type":      "Java stores it and can then not open the table",
}

func TestAsJava(t *testing.T) {
	f, err := os.Open("testdata/java-1.4.2.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unused := map[string]bool{}
	for n := range differently {
		unused[n] = true
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	count := 0
	for lines.Scan() {
		var c javaCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		count++
		got, err := c.run()
		diff := c.compare(got, err)
		if _, known := differently[c.Name]; known {
			delete(unused, c.Name)
			if diff == "" {
				t.Errorf("%s: no longer different, take it off the list", c.Name)
			}
			continue
		}
		if diff != "" {
			t.Errorf("%s: %s", c.Name, diff)
		}
	}
	if count < 700 || len(unused) > 0 {
		t.Errorf("%d cases read, unknown names %v", count, unused)
	}
}

func (c *javaCase) compare(got *Schema, err error) string {
	switch {
	case err != nil && c.Java == "":
		return "Java accepts it, Tarn says: " + err.Error()
	case err == nil && c.Java != "":
		return "Java refuses it: " + c.Java
	case err != nil:
		switch tarnerr.KindOf(err) {
		case tarnerr.Invalid, tarnerr.NotFound, tarnerr.AlreadyExists, tarnerr.Unsupported:
			return c.helpful(err)
		}
		return "of a strange kind: " + err.Error()
	case c.Schema == "":
		return ""
	}
	got.TimeMillis = 0
	want, have := strings.Split(c.Schema, "\n"), strings.Split(string(got.JSON()), "\n")
	if slices.Equal(want, have) {
		return ""
	}
	// Options whose hashes share a bin come in the order they were put in, which is lost.
	if slices.Equal(sortedLines(want), sortedLines(have)) && sharedBin(got.Options) {
		return ""
	}
	return "schema file (-Java +Tarn):\n" + cmp.Diff(want, have)
}

// helpful demands of a refusal that it gives a column or an option of the case as the
// place, and a way out.
func (c *javaCase) helpful(err error) string {
	if tarnerr.Hint(err) == "" {
		return "no way out: " + err.Error()
	}
	names := c.names()
	for e, ok := err.(*tarnerr.Error); ok; e, ok = e.Err.(*tarnerr.Error) {
		for _, a := range e.Attr {
			words := strings.FieldsFunc(a.Key+","+fmt.Sprint(a.Value), func(r rune) bool { return r == ',' || r == '"' })
			if slices.ContainsFunc(words, func(w string) bool { return names[w] }) {
				return ""
			}
		}
	}
	for key := range c.Create.Options { // or in words, where the name is one of an option for sure
		if strings.ContainsAny(key, ".-") && strings.Contains(err.Error(), key) {
			return ""
		}
	}
	return "names neither column nor option: " + err.Error()
}

// names are the columns and options that the case speaks of, columns within others
// by their paths.
func (c *javaCase) names() map[string]bool {
	names := map[string]bool{}
	for _, col := range c.Create.Columns {
		names[col[0]] = true
	}
	for key := range c.Create.Options {
		names[key] = true
	}
	for _, a := range c.Alter {
		for _, raw := range a {
			var said any
			json.Unmarshal(raw, &said)
			collect(said, names)
		}
	}
	for _, k := range append(c.Create.PrimaryKeys, c.Create.PartitionKeys...) {
		names[k] = true
	}
	return names
}

// collect takes the texts of a change, and lists of texts as the path that they are.
func collect(said any, names map[string]bool) {
	switch said := said.(type) {
	case string:
		names[said] = true
	case map[string]any:
		for _, v := range said {
			collect(v, names)
		}
	case []any:
		var path []string
		for _, v := range said {
			collect(v, names)
			if s, ok := v.(string); ok {
				path = append(path, s)
				names[strings.Join(path, ".")] = true
			}
		}
	}
}

func sortedLines(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.TrimSuffix(l, ",")
	}
	slices.Sort(out)
	return out
}

func sharedBin(options map[string]string) bool {
	seen := map[uint32]bool{}
	for k := range options {
		bin := hashBin(k, len(options))
		if seen[bin] {
			return true
		}
		seen[bin] = true
	}
	return false
}

func (c *javaCase) run() (*Schema, error) {
	spec := Spec{PrimaryKeys: c.Create.PrimaryKeys, PartitionKeys: c.Create.PartitionKeys,
		Options: c.Create.Options, Comment: c.Create.Comment}
	for _, col := range c.Create.Columns {
		typ, err := types.Parse(col[1])
		if err != nil {
			return nil, err
		}
		f := types.Field{Name: col[0], Type: typ}
		if len(col) > 2 {
			f.Description = &col[2]
		}
		spec.Fields = append(spec.Fields, f)
	}
	s, err := NewSchema(spec, 1)
	if err != nil || c.Alter == nil {
		return s, err
	}
	var changes []Change
	for _, a := range c.Alter {
		for kind, raw := range a {
			change, err := decodeChange(kind, raw)
			if err != nil {
				return nil, err
			}
			changes = append(changes, change)
		}
	}
	return Apply(s, changes, c.Data)
}

// columnPath is a column given as a name or as a list of names.
type columnPath []string

func (p *columnPath) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*p = columnPath{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(p))
}

func decodeChange(kind string, raw json.RawMessage) (Change, error) {
	var pair []json.RawMessage
	json.Unmarshal(raw, &pair)
	var column columnPath
	var text string
	var yes bool
	if len(pair) == 2 {
		json.Unmarshal(pair[0], &column)
		json.Unmarshal(pair[1], &text)
		json.Unmarshal(pair[1], &yes)
	}
	var place struct {
		Name          columnPath
		Column, Type  string
		Comment       *string
		First, Last   bool
		After, Before string
	}
	json.Unmarshal(raw, &place)
	where := Where{First: place.First, Last: place.Last, After: place.After, Before: place.Before}
	switch kind {
	case "add_column":
		typ, err := types.Parse(place.Type)
		return AddColumn{Path: place.Name, Type: typ, Comment: place.Comment, Where: where}, err
	case "rename_column":
		return RenameColumn{Path: column, To: text}, nil
	case "drop_column":
		err := json.Unmarshal(raw, &column)
		return DropColumn{Path: column}, err
	case "update_type":
		typ, err := types.Parse(text)
		return UpdateType{Path: column, Type: typ}, err
	case "nullability":
		return UpdateNullable{Path: column, Nullable: yes}, nil
	case "move":
		return MoveColumn{Column: place.Column, Where: where}, nil
	case "set_option":
		return SetOption{Key: column[0], Value: text}, nil
	case "remove_option":
		err := json.Unmarshal(raw, &text)
		return RemoveOption{Key: text}, err
	case "comment":
		err := json.Unmarshal(raw, &text)
		return SetComment{Comment: &text}, err
	case "column_comment":
		return UpdateColumnComment{Path: column, Comment: &text}, nil
	case "default_value":
		return UpdateDefault{Path: column, Default: &text}, nil
	}
	return nil, fmt.Errorf("no such change: %s", kind)
}
