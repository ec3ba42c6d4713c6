package orc

import (
	"math"
	"regexp"
	"strconv"
	"time"
	_ "time/tzdata" // what a file says must not depend on the machine
)

// stampEpoch is 2015-01-01T00:00, from which ORC counts seconds.
const stampEpoch = 1_420_070_400

// zone turns the seconds of a stripe's timestamps into a wall clock.
type zone struct {
	loc    *time.Location // nil: UTC
	epoch  int64          // where seconds are counted from
	julian bool           // days before 15 October 1582 are Julian
}

// zones sets the two clocks of a stripe whose writer lived in the zone named.
//
// TIMESTAMP counts from midnight of the writer's zone. TIMESTAMP WITH LOCAL TIME
// ZONE counts from midnight UTC, but Paimon's Java writer takes the UTC wall
// clock for one of its zone (orc.timestamp-ltz.legacy.type): the zone is taken
// out again where the file tells it.
func (s *stripe) zones(name string) error {
	loc, ok := location(name)
	if !ok {
		return s.file.Unsupported("time zone of the writer is not known", "stripe", s.index, "zone", name)
	}
	julian := s.file.julian()
	s.local = zone{loc: loc, epoch: stampEpoch, julian: julian}
	s.instant = zone{epoch: stampEpoch, julian: julian}
	if loc != nil {
		_, offset := time.Date(2015, 1, 1, 0, 0, 0, 0, loc).Zone()
		s.local.epoch -= int64(offset)
		if s.file.meta.writer == 0 {
			s.instant.loc = loc
		}
	}
	return nil
}

// julian reports a file with the calendar of java.sql.Timestamp: those of the
// Java writer, unless they say otherwise.
func (f *File) julian() bool {
	return f.meta.calendar == calendarJulian || f.meta.calendar == calendarUnknown && f.meta.writer == 0
}

// offsetName is a zone by its distance from UTC, as Java has them.
var offsetName = regexp.MustCompile(`^(?:GMT|UTC|UT)?([+-])(\d{1,2})(?::?(\d{2}))?$`)

// location finds a zone by the name Java gives it; nil is UTC.
func location(name string) (*time.Location, bool) {
	switch name {
	case "", "UTC", "GMT", "Z", "UT", "Etc/UTC", "Etc/GMT", "Zulu", "Universal", "Greenwich":
		return nil, true
	case "Local": // a name of package time alone
		return nil, false
	}
	if m := offsetName.FindStringSubmatch(name); m != nil {
		h, _ := strconv.Atoi(m[2])
		min, _ := strconv.Atoi(m[3])
		if h > 23 || min > 59 {
			return nil, false
		}
		seconds := h*3600 + min*60
		if m[1] == "-" {
			seconds = -seconds
		}
		return time.FixedZone(name, seconds), true
	}
	if long, ok := shortNames[name]; ok {
		name = long
	}
	loc, err := time.LoadLocation(name)
	return loc, err == nil
}

// shortNames are Java's old three-letter names.
var shortNames = map[string]string{
	"ACT": "Australia/Darwin", "AET": "Australia/Sydney", "AGT": "America/Argentina/Buenos_Aires", "ART": "Africa/Cairo", "AST": "America/Anchorage",
	"BET": "America/Sao_Paulo", "BST": "Asia/Dhaka", "CAT": "Africa/Harare", "CNT": "America/St_Johns", "CST": "America/Chicago", "CTT": "Asia/Shanghai",
	"EAT": "Africa/Addis_Ababa", "ECT": "Europe/Paris", "IET": "America/Indiana/Indianapolis", "IST": "Asia/Kolkata", "JST": "Asia/Tokyo",
	"MIT": "Pacific/Apia", "NET": "Asia/Yerevan", "NST": "Pacific/Auckland", "PLT": "Asia/Karachi", "PNT": "America/Phoenix", "PRT": "America/Puerto_Rico",
	"PST": "America/Los_Angeles", "SST": "Pacific/Guadalcanal", "VST": "Asia/Ho_Chi_Minh",
}

// wall is the seconds of a wall clock since 1970 for a stored number of seconds.
// Writers cut towards zero, so one is missing before 1970 when there is a
// fraction of at least a millisecond. (From 1969-12-31T23:59:59.001 to
// 1970-01-01 zero is stored as the second either way: what was there before 1970
// reads as after it, as in Java.)
func (z *zone) wall(stored, nanos int64) int64 {
	sec := stored + z.epoch
	if sec < 0 && nanos > 999_999 {
		sec--
	}
	if z.loc != nil {
		_, offset := time.Unix(sec, 0).In(z.loc).Zone()
		sec += int64(offset)
	}
	if z.julian && sec < gregorianStart {
		sec = gregorian(sec)
	}
	return sec
}

// gregorianStart is 1582-10-15T00:00.
const gregorianStart = -12_219_292_800

// gregorian takes seconds whose date is Julian to those of the same date in the
// proleptic Gregorian calendar.
func gregorian(sec int64) int64 {
	if sec < math.MinInt64/2 {
		return sec
	}
	day, rest := floorDiv(sec, 86_400)
	// Years of 365.25 days from 1 March of year −4800 (Julian day −32044 + …) on.
	e := day + 2_440_588 + 32_082 // days since 1 March −4800, Julian
	cycle, e := floorDiv(e, 1461)
	year := min(e/365, 3)
	e -= 365 * year
	month := (5*e + 2) / 153 // from March
	dayOfMonth := e - (153*month+2)/5
	year += 4*cycle - 4800
	// The same date, Gregorian.
	era, yoe := floorDiv(year, 400)
	days := era*146_097 + yoe*365 + yoe/4 - yoe/100 + (153*month+2)/5 + dayOfMonth - 719_468
	return days*86_400 + rest
}

func floorDiv(v, by int64) (quotient, rest int64) {
	quotient, rest = v/by, v%by
	if rest < 0 {
		quotient, rest = quotient-1, rest+by
	}
	return quotient, rest
}
