package rowtext

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/tarnlake/tarn/internal/variant"
)

// decodeJSON reads exactly one JSON value: numbers as json.Number, objects as
// map[string]any. Unlike encoding/json it refuses what would be changed on the
// way: a name given twice in one object, and half a surrogate pair.
func decodeJSON(text []byte) (any, error) {
	if err := variant.CheckSurrogates(text); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	v, err := decodeValue(dec)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("text after the JSON value")
	}
	return v, nil
}

func decodeValue(dec *json.Decoder) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, err := decodeValue(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := dec.Token()
		return list, err
	case json.Delim('{'):
		object := map[string]any{}
		for dec.More() {
			name, err := dec.Token()
			if err != nil {
				return nil, err
			}
			v, err := decodeValue(dec)
			if err != nil {
				return nil, err
			}
			key := name.(string) // a decoder gives nothing else between { and :
			if _, twice := object[key]; twice {
				return nil, fmt.Errorf("%q is given twice", key)
			}
			object[key] = v
		}
		_, err := dec.Token()
		return object, err
	}
	return token, nil
}
