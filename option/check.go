package option

import (
	"slices"
	"strings"

	"github.com/tarnlake/tarn/tarnerr"
)

// Table is what a check must know of a table beside its options.
type Table struct {
	PrimaryKey bool // the table has one
}

// CheckRead refuses, by key and value, options under which this version would
// not read what Java reads: Unsupported. Values that do not parse are Invalid.
// Options of one read are laid over the table's by the caller.
func CheckRead(options map[string]string, t Table) error {
	return check(options, t, false)
}

// CheckWrite refuses, by key and value, options under which this version would
// write another table than Java writes. It includes CheckRead: what cannot be
// read right is not written either.
func CheckWrite(options map[string]string, t Table) error {
	return check(options, t, true)
}

func check(options map[string]string, t Table, write bool) error {
	for _, g := range groups {
		for i := range g.keys {
			k := &g.keys[i]
			value, under, set := k.explicit(options)
			if !set {
				continue
			}
			if err := k.Check(value); err != nil {
				return err
			}
			refuses := k.State == RefusesReads || k.State == RefusesWrites && write
			if refuses && !k.accepts(value) && !k.acceptsByRule(value) {
				return refused(under, value, k.Note, k.accepted(), write)
			}
		}
	}
	if err := checkExpire(options, t, write); err != nil {
		return err
	}
	return checkBucket(options, t, write)
}

// acceptsByRule knows the keys whose value is more than one word.
func (k *Key) acceptsByRule(value string) bool {
	if k.Name != "file.format.per.level" {
		return false
	}
	levels, err := parseMap(k.Name, value)
	for _, format := range levels {
		if !byName["file.format"].accepts(format) {
			return false
		}
	}
	return err == nil
}

func (k *Key) accepted() []string {
	var out []string
	if k.HasDefault() && k.Default != "" {
		out = append(out, k.Default)
	}
	return append(out, k.Accept...)
}

func checkBucket(options map[string]string, t Table, write bool) error {
	k := byName["bucket"]
	text, _ := k.Get(options)
	n, err := parseInt("bucket", text, 32)
	if err != nil {
		return err
	}
	switch {
	case n == -2:
		return refused("bucket", text, "postponed buckets", nil, write)
	case n == -1 && t.PrimaryKey && write:
		return refused("bucket", text, "dynamic buckets of key tables", nil, write).
			WithHint("Create the table with a fixed number of buckets, bucket=4 for example.")
	}
	return nil
}

func refused(key, value, note string, accepted []string, write bool) *tarnerr.Error {
	op, does := "checking options for a read", "reads"
	if write {
		op, does = "checking options for a write", "writes"
	}
	kv := []any{"option", key, "value", value}
	if note != "" {
		kv = append(kv, "supported", note)
	}
	err := tarnerr.New(tarnerr.Unsupported, op, "this version of Tarn does not support this setting", kv...)
	if slices.Equal(accepted, []string{"false"}) || len(accepted) == 0 {
		return err.WithHint("Unset it for %s by Tarn, or use Java Paimon for this table.", does)
	}
	return err.WithHint("Use %s for %s by Tarn, or Java Paimon for this table.", strings.Join(accepted, " or "), does)
}
