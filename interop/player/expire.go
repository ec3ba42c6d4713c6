package player

import (
	"context"
	"encoding/json"
	"math"
	"strconv"

	"github.com/tarnlake/tarn/table"
)

type expireOp struct {
	Max          *int `json:"retain_max"`
	Min          *int `json:"retain_min"`
	ChangelogMax *int `json:"changelog_retain_max"`
	ChangelogMin *int `json:"changelog_retain_min"`
}

// expire goes by number alone, as the judge's does: whatever the table's options say
// of age, and however much goes at once.
func (p *player) expire(ctx context.Context, id table.Identifier, text json.RawMessage) error {
	op, err := decode[expireOp](text)
	if err != nil {
		return err
	}
	t, err := p.cat.LoadTable(ctx, id)
	if err != nil {
		return err
	}
	number := func(n *int, absent int) string {
		if n != nil {
			absent = *n
		}
		return strconv.Itoa(absent)
	}
	o := map[string]string{
		"snapshot.num-retained.max": number(op.Max, math.MaxInt32), "snapshot.num-retained.min": number(op.Min, 1),
		"snapshot.time-retained": "0 ms", "snapshot.expire.limit": strconv.Itoa(math.MaxInt32),
		"consumer.changelog-only": "false",
	}
	o["changelog.num-retained.max"], o["changelog.num-retained.min"] = o["snapshot.num-retained.max"], o["snapshot.num-retained.min"]
	o["changelog.time-retained"] = o["snapshot.time-retained"]
	if op.ChangelogMax != nil {
		o["changelog.num-retained.max"], o["changelog.num-retained.min"] = number(op.ChangelogMax, 0), number(op.ChangelogMin, 1)
		o["changelog.time-retained"] = "365 d"
	}
	_, err = t.Expire(ctx, table.ExpireOptions{Options: o})
	return err
}
