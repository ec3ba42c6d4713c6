//go:build cgo && !tarn_nosql

package tarnsql

import (
	"context"

	"github.com/duckdb/duckdb-go/v2/mapping"
)

// Plain runs a query as it stands in the DuckDB below db, without Tarn's tables.
func Plain(ctx context.Context, db *DB, sql string) (*Rows, error) {
	st, cancel := db.engine.newStatement(ctx)
	q, err := st.prepare(original(sql, sql, 0), cancel)
	if err != nil {
		return nil, err
	}
	return q.start()
}

// PlainExec runs a statement without rows in the DuckDB below db.
func PlainExec(db *DB, sql string) error {
	conn, err := db.engine.connect()
	if err != nil {
		return err
	}
	defer mapping.Disconnect(&conn)
	return execute(conn, sql)
}

// ReadPlainFrom sets from how many rows on DuckDB reads the files of a table by
// itself that need no merge.
func ReadPlainFrom(db *DB, rows int64) { db.engine.plain.least = rows }
