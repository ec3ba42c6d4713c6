package main

import (
	"context"
	"fmt"
)

// sqlOrders is the experiment of orders in SQL.
func sqlOrders(ctx context.Context, t *tour) error {
	fmt.Println("\n3. The late event again, in SQL")
	for _, step := range []struct {
		why        string
		statements []string
	}{
		{"Names without a database belong to the current one.",
			[]string{"CREATE DATABASE shop_sql", "USE shop_sql"}},
		{"A table as in Flink or Spark: one row per key, and the highest version is the newest.", []string{`
CREATE TABLE orders (
  order_id BIGINT, status STRING, version BIGINT,
  PRIMARY KEY (order_id) NOT ENFORCED
) WITH ('bucket' = '1', 'sequence.field' = 'version')`}},
		{"INSERT returns when its rows are committed. A row with a key that is there updates it. The last one is late.", []string{
			"INSERT INTO orders VALUES (1001, 'CREATED', 1)",
			"INSERT INTO orders VALUES (1001, 'PAID', 3)",
			"INSERT INTO orders VALUES (1001, 'CANCELLED', 2)"}},
		{"The same rows in the same order, in one commit, to a table where the last arrival is the newest.", []string{`
CREATE TABLE orders_by_arrival (
  order_id BIGINT, status STRING, version BIGINT,
  PRIMARY KEY (order_id) NOT ENFORCED
) WITH ('bucket' = '1')`,
			"INSERT INTO orders_by_arrival VALUES (1001, 'CREATED', 1), (1001, 'PAID', 3), (1001, 'CANCELLED', 2)"}},
	} {
		if _, err := t.sql.run(ctx, step.why, step.statements...); err != nil {
			return err
		}
	}
	got, err := t.sql.run(ctx, "Both beside each other: the order is paid where the version decides.", `
SELECT order_id, v.status AS by_version, a.status AS by_arrival
FROM orders v JOIN orders_by_arrival a USING (order_id)`)
	if err != nil {
		return err
	}
	if err := check(got, [][]string{{"1001", "PAID", "CANCELLED"}}); err != nil {
		return err
	}
	got, err = t.sql.run(ctx, "Each INSERT became one snapshot.",
		"SELECT snapshot_id, commit_kind, delta_record_count FROM orders$snapshots ORDER BY snapshot_id")
	if err != nil {
		return err
	}
	return check(got, [][]string{{"1", "APPEND", "1"}, {"2", "APPEND", "1"}, {"3", "APPEND", "1"}})
}
