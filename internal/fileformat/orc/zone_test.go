package orc

import (
	"math"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/internal/fileformat"
	"github.com/tarnlake/tarn/types"
)

func seconds(t *testing.T, text string) int64 {
	t.Helper()
	v, err := time.Parse("2006-01-02T15:04:05", text)
	if err != nil {
		t.Fatal(err)
	}
	return v.Unix()
}

// TestGregorian takes dates of the Julian calendar to the same dates of ours.
// The numbers on the left are those java.util.GregorianCalendar has.
func TestGregorian(t *testing.T) {
	for _, c := range []struct {
		millis int64
		want   string
	}{
		{-62_135_769_600_000, "0001-01-01T00:00:00"},
		{-62_135_769_599_000, "0001-01-01T00:00:01"},
		{-12_219_292_801_000, "1582-10-04T23:59:59"}, // the day before 1582-10-15
		{-30_609_792_000_000, "1000-01-01T00:00:00"},
	} {
		if got, want := gregorian(c.millis/1000), seconds(t, c.want); got != want {
			t.Errorf("%d is %s, want %s", c.millis, time.Unix(got, 0).UTC(), c.want)
		}
	}
	// Day by day, both calendars count the same dates; leap days differ in
	// years like 1500 alone.
	last := gregorian(gregorianStart - 1)
	for day := int64(1); day < 600_000; day++ {
		sec := gregorian(gregorianStart - 1 - day*86_400)
		julian := julianDate(gregorianStart - 1 - day*86_400)
		if y, m, d := time.Unix(sec, 0).UTC().Date(); (y != julian[0] || int(m) != julian[1] || d != julian[2]) && !(julian[1] == 2 && julian[2] == 29) {
			t.Fatalf("%v became %d-%d-%d", julian, y, m, d)
		}
		if sec > last {
			t.Fatalf("%v goes backwards", julian)
		}
		last = sec
	}
	if gregorian(math.MinInt64+1) != math.MinInt64+1 {
		t.Error("overflow")
	}
}

// julianDate counts years, months and days from 1582-10-04 down, one by one.
func julianDate(sec int64) [3]int {
	days, _ := floorDiv(gregorianStart-1-sec, 86_400)
	y, m, d := 1582, 10, 4
	year := func() int64 { // days from this date back to the same a year ago
		if leap := y%4 == 0; leap && m > 2 || (y-1)%4 == 0 && m <= 2 {
			return 366
		}
		return 365
	}
	for days >= 366 {
		days -= year()
		y--
	}
	for ; days > 0; days-- {
		if d--; d == 0 {
			if m--; m == 0 {
				y, m = y-1, 12
			}
			d = [...]int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[m-1]
			if m == 2 && y%4 == 0 {
				d = 29
			}
		}
	}
	return [3]int{y, m, d}
}

func TestWall(t *testing.T) {
	for _, c := range []struct {
		zone    string
		julian  bool
		instant bool
		writer  int32
		stored  int64 // since 2015
		nanos   int64
		want    string
	}{
		{"UTC", true, false, 0, 0, 0, "2015-01-01T00:00:00"},
		{"", true, false, 0, 0, 999_999_999, "2015-01-01T00:00:00"},
		{"US/Pacific", true, false, 0, 0, 0, "2015-01-01T00:00:00"},
		{"America/Los_Angeles", true, false, 0, 181 * 86_400, 0, "2015-07-01T01:00:00"}, // an hour of summer time
		{"Asia/Shanghai", true, false, 0, 3600, 0, "2015-01-01T01:00:00"},
		{"GMT+05:30", true, false, 0, -1, 0, "2014-12-31T23:59:59"},
		{"GMT-8", true, false, 0, 1, 0, "2015-01-01T00:00:01"},
		{"JST", true, false, 0, 1, 0, "2015-01-01T00:00:01"},
		{"UTC", true, false, 0, -stampEpoch - 1, 0, "1969-12-31T23:59:59"},
		{"UTC", true, false, 0, -stampEpoch - 1, 999_999, "1969-12-31T23:59:59"},
		{"UTC", true, false, 0, -stampEpoch - 1, 1_000_000, "1969-12-31T23:59:58"},
		{"UTC", true, false, 0, -stampEpoch, 1_000_000, "1970-01-01T00:00:00"},
		{"UTC", true, false, 0, -stampEpoch - 62_135_769_600, 0, "0001-01-01T00:00:00"},
		{"UTC", false, false, 1, -stampEpoch - 62_135_596_800, 0, "0001-01-01T00:00:00"},
		{"UTC", true, false, 0, -stampEpoch + gregorianStart, 0, "1582-10-15T00:00:00"},
		{"Asia/Tokyo", true, true, 0, 0, 0, "2015-01-01T09:00:00"},  // Java: the wall clock of its zone
		{"Asia/Tokyo", false, true, 1, 0, 0, "2015-01-01T00:00:00"}, // others: the instant
	} {
		f := &File{Input: &fileformat.Input{}, meta: footer{writer: c.writer, calendar: calendarGregorian}}
		if c.julian {
			f.meta.calendar = calendarUnknown
		}
		s := &stripe{file: f}
		if err := s.zones(c.zone); err != nil {
			t.Error(err)
			continue
		}
		clock := s.local
		if c.instant {
			clock = s.instant
		}
		if got, want := clock.wall(c.stored, c.nanos), seconds(t, c.want); got != want {
			t.Errorf("%+v: %s", c, time.Unix(got, 0).UTC().Format(time.RFC3339))
		}
	}
	for _, name := range []string{"Local", "Middle/Earth", "GMT+25", "../etc/passwd", "GMT+05:61"} {
		if err := (&stripe{file: &File{Input: &fileformat.Input{}}}).zones(name); err == nil {
			t.Errorf("zone %q is known", name)
		}
	}
}

func TestNanoseconds(t *testing.T) {
	for _, c := range []struct{ packed, want int64 }{
		{0, 0}, {1 << 3, 1}, {1<<3 | 1, 100}, {1<<3 | 2, 1000}, {5<<3 | 7, 500_000_000}, {999_999_999 << 3, 999_999_999}, {-223<<3 | 5, -223_000_000},
	} {
		if got, ok := nanoseconds(c.packed); !ok || got != c.want {
			t.Errorf("%d: %d, want %d", c.packed, got, c.want)
		}
	}
	for _, packed := range []int64{1_000_000_000 << 3, 100<<3 | 7, math.MaxInt64, math.MinInt64} {
		if got, ok := nanoseconds(packed); ok {
			t.Errorf("%d: %d", packed, got)
		}
	}
}

func TestDecimals(t *testing.T) {
	max := decimal128.GetMaxValue(38)
	for _, c := range []struct {
		in    []byte
		scale int64
		typ   string
		want  string // "" = does not fit
	}{
		{[]byte{0}, 0, "DECIMAL(3,2)", "0.00"},
		{[]byte{0}, -90, "DECIMAL(3,2)", "0.00"},
		{[]byte{3}, 0, "DECIMAL(3,2)", "-2.00"},
		{[]byte{2}, 1, "DECIMAL(3,2)", "0.10"},
		{[]byte{20}, 0, "DECIMAL(3,2)", ""},
		{[]byte{2}, 0, "DECIMAL(2,2)", ""},
		{[]byte{2}, -40, "DECIMAL(38,0)", ""},
		{[]byte{2}, -2, "DECIMAL(3,0)", "100"},
		{[]byte{10}, 1, "DECIMAL(3,0)", "1"}, // 0.5
		{[]byte{9}, 1, "DECIMAL(3,0)", "-1"},
		{[]byte{8}, 1, "DECIMAL(3,0)", "0"},
		{wide(max), 0, "DECIMAL(38,0)", "99999999999999999999999999999999999999"},
		{wide(max.Negate()), 0, "DECIMAL(38,0)", "-99999999999999999999999999999999999999"},
		{wide(max), 0, "DECIMAL(38,1)", ""},
		{wide(max.Add(decimal128.FromI64(1))), 0, "DECIMAL(38,0)", ""},
	} {
		typ := types.MustParse(c.typ)
		v, err := newStream(c.in, codecNone, 0).wideVarint()
		if err != nil {
			t.Fatal(err)
		}
		d := decimals{want: typ}
		got := ""
		if v, ok := d.rescale(v, c.scale); ok {
			got = types.FormatValue(typ, v)
		}
		if got != c.want {
			t.Errorf("%x, scale %d, %s: %s, want %s", c.in, c.scale, c.typ, got, c.want)
		}
	}
	for _, in := range [][]byte{{}, {0x80}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}} {
		if v, err := newStream(in, codecNone, 0).wideVarint(); err == nil {
			t.Errorf("%x is %v", in, v)
		}
	}
}

// wide writes a decimal as the writers do.
func wide(v decimal128.Num) []byte {
	hi, lo := uint64(v.HighBits()), v.LowBits()
	sign := uint64(v.HighBits() >> 63)
	lo, hi = lo<<1^sign, (hi<<1|lo>>63)^sign
	var out []byte
	for hi > 0 || lo >= 0x80 {
		out = append(out, byte(lo)|0x80)
		lo, hi = lo>>7|hi<<57, hi>>7
	}
	return append(out, byte(lo))
}
