package ocf

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/tarnerr"
)

// ParseSchema reads the text of a writer's schema. Names are taken as they are:
// Java allows letters that the Avro specification does not. Types that contain
// themselves are Unsupported, all else that cannot be is Corrupt.
func ParseSchema(text []byte) (*Schema, error) {
	if len(text) > maxText {
		return nil, badSchema("schema is too large", "bytes", len(text))
	}
	d := json.NewDecoder(bytes.NewReader(text))
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, tarnerr.Wrap(tarnerr.Corrupt, "reading Avro schema", err)
	}
	if d.More() {
		return nil, badSchema("schema goes on behind its end", "offset", d.InputOffset())
	}
	p := parser{named: map[string]*Schema{}}
	return p.schema(v, "", 0)
}

func badSchema(cause string, kv ...any) error {
	return tarnerr.New(tarnerr.Corrupt, "reading Avro schema", cause, kv...)
}

type parser struct {
	named map[string]*Schema // by full name; nil while a type is being read
	nodes int
}

// schema reads a schema that stands in the namespace space.
func (p *parser) schema(v any, space string, depth int) (*Schema, error) {
	if p.nodes++; p.nodes > maxNodes || depth > maxDepth {
		return nil, badSchema("schema is too large")
	}
	switch v := v.(type) {
	case string:
		return p.lookup(v, space)
	case []any:
		return p.union(v, space, depth)
	case map[string]any:
		return p.object(v, space, depth)
	}
	return nil, badSchema("neither name, union nor object where a type is due")
}

func (p *parser) lookup(name, space string) (*Schema, error) {
	s, ok := p.named[fullName(name, space)]
	if !ok {
		s, ok = p.named[name] // out of a namespace one can still refer to types without any
	}
	switch k, primitive := kinds[name]; {
	case ok && s == nil:
		return nil, tarnerr.New(tarnerr.Unsupported, "reading Avro schema", "types that contain themselves cannot be read", "name", name)
	case ok:
		return s, nil
	case primitive && k <= String:
		return primitives[k], nil
	}
	return nil, badSchema("no such type", "name", name)
}

// primitives are the types without anything to be said of them.
var primitives = func() (out [String + 1]*Schema) {
	for name, k := range kinds {
		if k <= String {
			out[k] = &Schema{Kind: k, Type: name, Empty: k == Null, nodes: 1}
		}
	}
	return out
}()

func fullName(name, space string) string {
	if space == "" || strings.Contains(name, ".") {
		return name
	}
	return space + "." + name
}

func (p *parser) union(branches []any, space string, depth int) (*Schema, error) {
	s := &Schema{Kind: Union, Type: "union"}
	for _, b := range branches {
		part, err := p.schema(b, space, depth+1)
		if err != nil {
			return nil, err
		}
		if part.Kind == Union {
			return nil, badSchema("union in a union")
		}
		s.Parts = append(s.Parts, part)
	}
	if len(s.Parts) == 0 {
		return nil, badSchema("union without branches")
	}
	return s, closed(s, "")
}

// closed is the error of closing a schema.
func closed(s *Schema, name string) error {
	if cause := s.close(); cause != "" {
		return badSchema(cause, "name", name)
	}
	return nil
}

func (p *parser) object(o map[string]any, space string, depth int) (*Schema, error) {
	name, isName := o["type"].(string)
	k, known := kinds[name]
	if !isName || !known { // {"type": {…}} wraps another schema
		if o["type"] == nil {
			return nil, badSchema("schema without type")
		}
		return p.schema(o["type"], space, depth+1)
	}
	s := &Schema{Kind: k, Type: name, Precision: number(o, "precision"), Scale: number(o, "scale"), Size: number(o, "size")}
	if s.Logical, _ = o["logicalType"].(string); s.Logical != "" {
		s.Type += " (" + s.Logical + ")"
	}
	full := ""
	switch k {
	case Record, Enum, Fixed:
		var err error
		if full, space, err = p.name(o, space); err != nil {
			return nil, err
		}
		if s.Size < 0 {
			return nil, badSchema("fixed of negative size", "name", full)
		}
	}
	if err := p.parts(s, o, space, depth); err != nil {
		return nil, err
	}
	if full != "" {
		p.named[full] = s
	}
	return s, closed(s, full)
}

// name gives the full name of a type and the namespace of what it contains.
func (p *parser) name(o map[string]any, space string) (full, inner string, err error) {
	name, _ := o["name"].(string)
	if name == "" {
		return "", "", badSchema("type without a name")
	}
	if own, ok := o["namespace"].(string); ok {
		space = own
	}
	full = fullName(name, space)
	if _, ok := p.named[full]; ok {
		return "", "", badSchema("two types of one name", "name", full)
	}
	p.named[full] = nil
	if i := strings.LastIndexByte(full, '.'); i >= 0 {
		return full, full[:i], nil
	}
	return full, "", nil
}

// number is a whole number of an object, −1 for one that is none, 0 when it is left out.
func number(o map[string]any, key string) int {
	v, ok := o[key]
	if !ok {
		return 0
	}
	if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) <= math.MaxInt32 {
		return int(f)
	}
	return -1
}

func (p *parser) parts(s *Schema, o map[string]any, space string, depth int) error {
	add := func(v any) error {
		part, err := p.schema(v, space, depth+1)
		s.Parts = append(s.Parts, part)
		return err
	}
	switch s.Kind {
	case Array:
		return add(o["items"])
	case Map:
		return add(o["values"])
	case Record:
		fields, ok := o["fields"].([]any)
		if !ok {
			return badSchema("record without fields", "name", o["name"])
		}
		seen := make(map[string]bool, len(fields))
		for _, f := range fields {
			f, _ := f.(map[string]any)
			name, _ := f["name"].(string)
			if name == "" || seen[name] {
				return badSchema("member without a name of its own", "record", o["name"], "name", name)
			}
			seen[name] = true
			s.Names = append(s.Names, name)
			if err := add(f["type"]); err != nil {
				return err
			}
		}
		s.Names = slices.Clip(s.Names)
	}
	return nil
}
