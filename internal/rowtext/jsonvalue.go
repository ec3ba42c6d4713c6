package rowtext

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// decodeJSON reads exactly one JSON value: numbers as json.Number, objects as
// map[string]any. Unlike encoding/json it refuses what would be changed on the
// way: a name given twice in one object, and half a surrogate pair.
func decodeJSON(text []byte) (any, error) {
	if err := checkSurrogates(text); err != nil {
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

// checkSurrogates refuses \ud800 to \udfff that do not come in pairs; the
// decoder would put U+FFFD in their place.
func checkSurrogates(text []byte) error {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++
		unit, ok := escapedUnit(text, i)
		switch {
		case !ok || unit < 0xd800 || unit > 0xdfff:
			continue
		case unit < 0xdc00:
			if low, ok := escapedUnit(text, i+6); ok && i+5 < len(text) && text[i+5] == '\\' && low >= 0xdc00 && low <= 0xdfff {
				i += 10
				continue
			}
		}
		return fmt.Errorf("half a surrogate pair: \\%s", text[i:i+5])
	}
	return nil
}

// escapedUnit reads uXXXX at i.
func escapedUnit(text []byte, i int) (uint64, bool) {
	if i+5 > len(text) || text[i] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[i+1:i+5]), 16, 16)
	return n, err == nil
}
