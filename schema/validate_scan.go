package schema

import (
	"strings"
)

// scanMode: the scan.… options stored in a table fit together.
func (v *validator) scanMode() error {
	mode := strings.ToLower(v.get("scan.mode"))
	if mode == "default" {
		mode = v.impliedMode()
	}
	const (
		millis, stamp, snapshot, tag, mark = "scan.timestamp-millis", "scan.timestamp", "scan.snapshot-id", "scan.tag-name", "scan.watermark"
		created                            = "scan.file-creation-time-millis"
		between, betweenTime, toTag        = "incremental-between", "incremental-between-timestamp", "incremental-to-auto-tag"
	)
	var oneOf, forbidden []string
	switch mode {
	case "from-timestamp":
		oneOf = []string{millis, stamp}
		forbidden = []string{snapshot, created, tag, betweenTime, between, toTag}
	case "from-snapshot":
		oneOf = []string{snapshot, tag, mark}
		forbidden = []string{millis, stamp, created, betweenTime, between, toTag}
	case "incremental":
		oneOf = []string{between, betweenTime, toTag}
		forbidden = []string{snapshot, millis, created, stamp, tag}
	case "from-snapshot-full":
		oneOf = []string{snapshot}
		forbidden = []string{millis, stamp, created, tag, betweenTime, between, toTag}
	case "from-file-creation-time":
		oneOf = []string{created}
		forbidden = []string{snapshot, millis, tag, betweenTime, between, toTag}
	default:
		forbidden = []string{millis, created, stamp, snapshot, tag, betweenTime, between, toTag}
	}
	given := 0
	for _, key := range oneOf {
		if v.set(key) {
			given++
		}
	}
	if len(oneOf) > 0 && given != 1 {
		return invalid("the scan mode needs exactly one of these options", "scan.mode", mode, "options", strings.Join(oneOf, ","), "given", given).
			WithHint("Set one and unset the others, or choose another scan.mode.")
	}
	for _, key := range forbidden {
		if v.set(key) {
			return invalid("the option does not go with the scan mode", "option", key, "scan.mode", mode).
				WithHint("Remove one of the two.")
		}
	}
	return nil
}

// impliedMode is the mode that options imply while scan.mode is default.
func (v *validator) impliedMode() string {
	for _, m := range []struct {
		mode string
		keys []string
	}{
		{"from-timestamp", []string{"scan.timestamp-millis", "scan.timestamp"}},
		{"from-snapshot", []string{"scan.snapshot-id", "scan.tag-name", "scan.watermark", "scan.version"}},
		{"from-file-creation-time", []string{"scan.file-creation-time-millis"}},
		{"from-creation-timestamp", []string{"scan.creation-time-millis"}},
		{"incremental", []string{"incremental-between", "incremental-between-timestamp", "incremental-to-auto-tag"}},
	} {
		for _, k := range m.keys {
			if v.set(k) {
				return m.mode
			}
		}
	}
	return "latest-full"
}
