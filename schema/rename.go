package schema

import (
	"maps"
	"slices"
	"strings"
)

// renameNames replaces top-level columns' old names in a list of names.
func renameNames(names []string, renames []RenameColumn) []string {
	to := renamed(renames)
	if len(to) == 0 {
		return names
	}
	out := slices.Clone(names)
	for i, n := range out {
		if m, ok := to[n]; ok {
			out[i] = m
		}
	}
	return out
}

func renamed(renames []RenameColumn) map[string]string {
	to := map[string]string{}
	for _, r := range renames {
		if len(r.Path) == 1 {
			to[r.Path[0]] = r.To
		}
	}
	return to
}

// Options whose value lists columns, and suffixes of fields.<column>.… options
// whose value does not, or does as well.
var (
	listOptions       = []string{"bucket-key", "sequence.field"}
	columnSuffixes    = []string{"aggregate-function", "ignore-retract", "distinct", "list-agg-delimiter"}
	columnsInSuffixes = []string{"sequence-group", "nested-key"}
)

// renameOptions carries renamed top-level columns into the options that name
// columns: the same ones Java rewrites.
func renameOptions(options map[string]string, renames []RenameColumn) map[string]string {
	to := renamed(renames)
	if len(to) == 0 {
		return options
	}
	out := maps.Clone(options)
	for _, key := range listOptions {
		if v := options[key]; strings.TrimSpace(v) != "" {
			out[key] = renameList(v, renames)
		}
	}
	for key, value := range options {
		columns, suffix, ok := columnsOf(key)
		if !ok {
			continue
		}
		switch {
		case slices.Contains(columnSuffixes, suffix):
			if m, renamed := to[columns]; renamed {
				delete(out, key)
				out["fields."+m+"."+suffix] = value
			}
		case slices.Contains(columnsInSuffixes, suffix):
			delete(out, key)
			out["fields."+renameList(columns, renames)+"."+suffix] = renameList(value, renames)
		}
	}
	return out
}

// columnsOf cuts fields.<columns>.<suffix>.
func columnsOf(key string) (columns, suffix string, ok bool) {
	rest, ok := strings.CutPrefix(key, "fields.")
	if !ok {
		return "", "", false
	}
	i := strings.LastIndexByte(rest, '.')
	if i < 0 {
		return "", "", false
	}
	return rest[:i], rest[i+1:], true
}

func renameList(list string, renames []RenameColumn) string {
	return strings.Join(renameNames(strings.Split(list, ","), renames), ",")
}
