package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/rowtext"
	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

var foreignSchema = arrow.NewSchema([]arrow.Field{
	{Name: "u", Type: arrow.PrimitiveTypes.Uint32, Nullable: true},
	{Name: "big", Type: arrow.BinaryTypes.LargeString, Nullable: true},
	{Name: "dict", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, Nullable: true},
	{Name: "raw", Type: arrow.BinaryTypes.Binary, Nullable: true},
	{Name: "f", Type: arrow.PrimitiveTypes.Float32, Nullable: true},
	{Name: "_kind", Type: arrow.BinaryTypes.String},
}, nil)

func foreignBatch(t *testing.T, raw string) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, foreignSchema)
	defer b.Release()
	b.Field(0).(*array.Uint32Builder).Append(4_000_000_000)
	b.Field(1).(*array.LargeStringBuilder).Append("large")
	if err := b.Field(2).(*array.BinaryDictionaryBuilder).AppendString("word"); err != nil {
		t.Fatal(err)
	}
	b.Field(3).(*array.BinaryBuilder).Append([]byte(raw))
	b.Field(4).(*array.Float32Builder).Append(0.1)
	b.Field(5).(*array.StringBuilder).Append("-D")
	for i := range 5 {
		b.Field(i).AppendNull()
	}
	b.Field(5).(*array.StringBuilder).Append("+I")
	return b.NewRecordBatch()
}

func targets(t *testing.T, u string) []types.Field {
	var out []types.Field
	for _, c := range []string{"u " + u, "big STRING", "dict STRING", "raw STRING", "f DOUBLE"} {
		name, typ, _ := strings.Cut(c, " ")
		ty, err := types.Parse(typ)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, types.Field{Name: name, Type: ty})
	}
	return out
}

// Arrow streams and files of other programs, with types that Paimon has not.
func TestForeignArrow(t *testing.T) {
	rec := foreignBatch(t, "text")
	defer rec.Release()
	var stream, file bytes.Buffer
	sw := ipc.NewWriter(&stream, ipc.WithSchema(foreignSchema))
	fw, err := ipc.NewFileWriter(&file, ipc.WithSchema(foreignSchema))
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{sw.Write(rec), sw.Close(), fw.Write(rec), fw.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, in := range map[string]*bytes.Buffer{"stream": &stream, "file": &file} {
		r, err := openArrow(in, targets(t, "BIGINT"))
		if err != nil {
			t.Fatal(name, err)
		}
		got, err := r.Next(context.Background())
		if err != nil {
			t.Fatal(name, err)
		}
		var out bytes.Buffer
		w := rowtext.NewJSONL(&out, append(targets(t, "BIGINT"), types.Field{Name: "_kind", Type: types.MustParse("TINYINT")}), false)
		if err := w.Write(got); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		want := `{"u":4000000000,"big":"large","dict":"word","raw":"text","f":0.10000000149011612,"_kind":3}` + "\n" +
			`{"u":null,"big":null,"dict":null,"raw":null,"f":null,"_kind":0}` + "\n"
		if out.String() != want {
			t.Errorf("%s:\n%swant\n%s", name, out.String(), want)
		}
		if _, err := r.Next(context.Background()); err != io.EOF {
			t.Errorf("%s: %v", name, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestForeignValuesThatDoNotFit(t *testing.T) {
	for name, c := range map[string]struct{ raw, u, want string }{
		"unsigned": {"x", "INT", `column=u`},
		"bytes":    {"\xff\xfe", "BIGINT", `bytes are not UTF-8`},
	} {
		rec := foreignBatch(t, c.raw)
		var stream bytes.Buffer
		w := ipc.NewWriter(&stream, ipc.WithSchema(foreignSchema))
		if err := errors.Join(w.Write(rec), w.Close()); err != nil {
			t.Fatal(err)
		}
		rec.Release()
		r, err := openArrow(&stream, targets(t, c.u))
		if err == nil {
			_, err = r.Next(context.Background())
			r.Close()
		}
		if !errors.Is(err, tarnerr.Invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
