package event

import (
	"bytes"
	"errors"
	"log/slog"
	"reflect"
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

func TestSlog(t *testing.T) {
	var b bytes.Buffer
	l := Slog(slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelInfo})))
	for _, info := range every {
		l.Emit(info)
	}
	b.Reset()
	l.Emit(CommitEnd{Table: "db.t", Status: "FAILED", Reason: "conflict", Err: errors.New("boom")})
	l.Emit(FlushEnd{Table: "db.t"}) // debug: not shown
	got := b.String()
	for _, want := range []string{"level=ERROR", "msg=commit", "table=db.t", "status=FAILED", "reason=conflict", "error=boom"} {
		if !strings.Contains(got, want) {
			t.Errorf("log line lacks %s: %s", want, got)
		}
	}
	if strings.Contains(got, "flush") {
		t.Errorf("flush must be a debug line: %s", got)
	}
}
