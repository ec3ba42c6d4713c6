package event

import (
	"bytes"
	"errors"
	"log/slog"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// every holds one info of each type; TestEachFieldHasAnInfo keeps it whole.
var every = []Info{CommitBegin{}, AttemptEnd{}, CommitConflict{}, SnapshotDisplaced{}, CommitEnd{}, FlushEnd{}, SpillEnd{}, CompactWait{}, CompactEnd{}, ScanPlanned{}, StorageCall{}, Warning{}}

func TestEachFieldHasAnInfo(t *testing.T) {
	if n := reflect.TypeFor[Listener]().NumField(); n != len(every) {
		t.Fatalf("Listener has %d fields, the test knows %d infos", n, len(every))
	}
	for _, info := range every {
		name := reflect.TypeOf(info).Name()
		if _, ok := reflect.TypeFor[Listener]().FieldByName(name); !ok {
			t.Errorf("Listener has no field %s", name)
		}
	}
}

func TestEmitReachesItsFieldAlone(t *testing.T) {
	for _, info := range every {
		var got []string
		l := &Listener{}
		v := reflect.ValueOf(l).Elem()
		for i := range v.NumField() {
			f := v.Field(i)
			f.Set(reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
				got = append(got, args[0].Type().Name())
				return nil
			}))
		}
		Tee(nil, l, l, &Listener{}).Emit(info)
		name := reflect.TypeOf(info).Name()
		if !reflect.DeepEqual(got, []string{name, name}) {
			t.Errorf("%s told %v", name, got)
		}
	}
}

// What goes wrong is seen at its level, and what is only told at Debug is not seen at Info.
func TestSlog(t *testing.T) {
	var b bytes.Buffer
	l := Slog(slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelInfo})))
	for _, info := range every {
		l.Emit(info)
	}
	for _, c := range []struct {
		info Info
		want string // words of the line, "" = none
	}{
		{CommitEnd{Table: "db.t", Status: "SUCCEEDED", Bytes: 5, BytesDeleted: 6, Rewritten: 7, RolledBack: []int64{3}, Already: true, Phases: Phases{
			Queue: 1, Read: 2, Check: 3, Write: 4, Intent: 5, Publish: 6, Backoff: 7,
		}}, "level=INFO msg=commit table=db.t status=SUCCEEDED bytes=5 bytesDeleted=6 manifestBytesRewritten=7 rolledBack=[3] alreadyCommitted=true queue=1ns read=2ns check=3ns write=4ns intent=5ns publish=6ns backoff=7ns"},
		{CommitEnd{Table: "db.t", Status: "FAILED", Reason: "conflict", Err: errors.New("boom")}, "level=ERROR msg=commit table=db.t status=FAILED reason=conflict error=boom"},
		{AttemptEnd{Table: "db.t", Snapshot: 4, Number: 2, Outcome: "lost race"}, `level=WARN msg="commit attempt" table=db.t snapshot=4 attempt=2 outcome="lost race"`},
		{AttemptEnd{Table: "db.t", Outcome: "committed"}, ""},
		{CommitConflict{Table: "db.t", Check: "file-deletion", OtherUser: "bob", OtherSnapshot: 4}, `level=WARN msg="commit conflict" table=db.t check=file-deletion otherUser=bob otherSnapshot=4`},
		{SnapshotDisplaced{Table: "db.t", Snapshot: 4, OtherUser: "java"}, `level=ERROR msg="snapshot displaced" table=db.t snapshot=4 otherUser=java`},
		{Warning{Table: "db.t", Doing: "writing LATEST hint", Err: errors.New("boom")}, `level=WARN msg="writing LATEST hint" table=db.t error=boom`},
		{FlushEnd{Table: "db.t"}, ""},
	} {
		b.Reset()
		l.Emit(c.info)
		got := b.String()
		if (got == "") != (c.want == "") {
			t.Errorf("%T: %q", c.info, got)
		}
		for _, word := range words.FindAllString(c.want, -1) {
			if !strings.Contains(got, " "+word) {
				t.Errorf("%T: the line lacks %s: %s", c.info, word, got)
			}
		}
	}
}

// words are the key=value pairs of a line.
var words = regexp.MustCompile(`\w+=("[^"]*"|\S+)`)
