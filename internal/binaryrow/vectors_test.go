package binaryrow

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/types"
)

func typesOf(ss ...string) []types.Type {
	out := make([]types.Type, len(ss))
	for i, s := range ss {
		out[i] = types.MustParse(s)
	}
	return out
}

// Rows whose bytes and hashes are known from Java's FixedBucketRowKeyExtractor
// and its tests.
func TestKnownRows(t *testing.T) {
	for _, c := range []struct {
		types  string
		values []types.Value
		body   string
		hash   int32
	}{
		{"INT", []types.Value{int64(5)}, "0000000000000000 0500000000000000", 260196596},
		{"INT", []types.Value{int64(7)}, "0000000000000000 0700000000000000", -348168691},
		{"INT,INT", []types.Value{int64(5), int64(6)}, "0000000000000000 0500000000000000 0600000000000000", 131015827},
		{"INT", []types.Value{int64(1)}, "0000000000000000 0100000000000000", 1465514398},
		{"BIGINT", []types.Value{int64(1)}, "0000000000000000 0100000000000000", 1465514398},
		{"STRING", []types.Value{"a"}, "0000000000000000 6100000000000081", 943281246},
		{"STRING", []types.Value{"hello"}, "0000000000000000 68656c6c6f000085", 243722546},
		{"STRING", []types.Value{"abcdefgh"}, "0000000000000000 0800000010000000 6162636465666768", -843760178},
		{"INT", []types.Value{nil}, "0001000000000000 0000000000000000", -1748325344},
		{"INT,STRING", []types.Value{int64(1), "paimon-go-test"},
			"0000000000000000 0100000000000000 0e00000018000000 7061696d6f6e2d676f2d746573740000", 889239967},
	} {
		row, err := Encode(typesOf(strings.Split(c.types, ",")...), c.values)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := hex.EncodeToString(row.Body()), strings.ReplaceAll(c.body, " ", ""); got != want {
			t.Errorf("%s %v: bytes %s, want %s", c.types, c.values, got, want)
		}
		if got := row.Hash(); got != c.hash {
			t.Errorf("%s %v: hash %d, want %d", c.types, c.values, got, c.hash)
		}
	}
}
