package schema

import (
	"strconv"
	"strings"

	"github.com/tarnlake/tarn/option"
	"github.com/tarnlake/tarn/tarnerr"
)

// anewWith is the way out where an option cannot change.
const anewWith = "Create a new table with the option and copy the data."

func (a *applier) setOption(key, value string) error {
	const op = "setting option"
	old := a.old.Options[key]
	if key == "path" || key == "type" && !strings.EqualFold(optionOr(a.old.Options, "type", "table"), value) {
		return refuse(op, "it cannot change", "option", key).WithHint(anewWith)
	}
	if a.hasSnapshots {
		if err := a.immutable(op, key); err != nil {
			return err
		}
		var err error
		switch key {
		case "bucket":
			err = changeBucket(optionOr(a.old.Options, key, "-1"), value)
		case "deletion-vectors.enabled":
			if !isTrue(a.old.Options["deletion-vectors.modifiable"]) && isTrue(old) != isTrue(value) {
				err = refuse(op, "switching deletion vectors without a full compaction can give doubled rows",
					"option", key, "from", isTrue(old), "to", isTrue(value)).
					WithHint("Set deletion-vectors.modifiable=true if you are sure.")
			}
		case "ignore-delete", "ignore-update-before":
			if isTrue(old) && !isTrue(value) {
				err = refuse(op, "it cannot go back from true to false", "option", key).WithHint(anewWith)
			}
		case "clustering.columns":
			err = a.clusteringFixed(op, key)
		}
		if err != nil {
			return err
		}
	}
	a.options[key] = value
	return nil
}

func (a *applier) removeOption(key string) error {
	const op = "removing option"
	if key == "path" || key == "type" {
		return refuse(op, "it cannot change", "option", key).WithHint(anewWith)
	}
	if a.hasSnapshots {
		if err := a.immutable(op, key); err != nil {
			return err
		}
		if key == "bucket" {
			return refuse(op, "the number of buckets of a table with data cannot be unset", "option", key).WithHint("Set another number instead.")
		}
		if err := a.clusteringFixed(op, key); err != nil {
			return err
		}
	}
	delete(a.options, key)
	return nil
}

func (a *applier) immutable(op, key string) error {
	if k, known := option.Lookup(key); known && k.Immutable {
		return refuse(op, "it cannot change once the table holds data", "option", key).
			WithHint(anewWith)
	}
	return nil
}

func (a *applier) clusteringFixed(op, key string) error {
	if _, override := a.old.Options["pk-clustering-override"]; override && key == "clustering.columns" {
		return refuse(op, "it cannot change while pk-clustering-override is set", "option", key).WithHint(anewWith)
	}
	return nil
}

func changeBucket(old, value string) error {
	const op = "setting option"
	from, err1 := strconv.Atoi(old)
	to, err2 := strconv.Atoi(value)
	switch {
	case err1 != nil || err2 != nil:
		return tarnerr.New(tarnerr.Invalid, op, "not a whole number", "option", "bucket", "from", old, "to", value).
			WithHint("Give a number of buckets, bucket=4 for example.")
	case from == -1:
		return refuse(op, "a table with data and bucket=-1 cannot get fixed buckets", "option", "bucket", "to", value).WithHint(anewWith)
	case to == -1:
		return refuse(op, "a table with data and fixed buckets cannot go to bucket=-1", "option", "bucket", "from", old).WithHint(anewWith)
	}
	return nil
}

func optionOr(options map[string]string, key, otherwise string) string {
	if v, ok := options[key]; ok {
		return v
	}
	return otherwise
}

func isTrue(s string) bool { return strings.EqualFold(s, "true") }
