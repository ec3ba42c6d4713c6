//go:build cgo && !tarn_nosql

package tarnsql_test

import (
	"fmt"
	"strings"
)

// The eight tables of TPC-H at scale 0.1, made by SELECTs of their own: with the
// number of rows, the keys and the distributions of the specification, so that each of the
// 22 queries has rows; hash stands for chance, so each run makes the same rows.
const (
	suppliers = 1000
	parts     = 20_000
	customers = 15_000
	orders    = 150_000
)

// tpchTable is one table: its columns as SQL has them, its key, and its rows.
type tpchTable struct {
	name, columns, key, rows string
	older                    string // what is different in an earlier version of a row
}

// names are the columns' names alone.
func (t tpchTable) names() string {
	var out []string
	for _, c := range strings.Split(t.columns, ", ") {
		if name, _, typed := strings.Cut(c, " "); typed { // DECIMAL(15, 2) has a comma too
			out = append(out, name)
		}
	}
	return strings.Join(out, ", ")
}

// chance is a number in 0 … n-1 that depends on the key and a number of its own.
func chance(key string, salt, n int) string {
	return fmt.Sprintf("(hash(%s, %d) %% %d)::INTEGER", key, salt, n)
}

func word(key string, salt int, words string) string {
	list := strings.Split(words, "|")
	return fmt.Sprintf("(['%s'])[1 + %s]", strings.Join(list, "','"), chance(key, salt, len(list)))
}

const (
	colours = "almond|antique|aquamarine|azure|beige|bisque|black|blanched|blue|blush|brown|burlywood|burnished|chartreuse|chiffon|chocolate|coral|cornflower|cornsilk|cream|cyan|dark|deep|dim|dodger|drab|firebrick|floral|forest|frosted|gainsboro|ghost|goldenrod|green|grey|honeydew|hot|indian|ivory|khaki|lace|lavender|lawn|lemon|light|lime|linen|magenta|maroon|medium|metallic|midnight|mint|misty|moccasin|navajo|navy|olive|orange|orchid|pale|papaya|peach|peru|pink|plum|powder|puff|purple|red|rose|rosy|royal|saddle|salmon|sandy|seashell|sienna|sky|slate|smoke|snow|spring|steel|tan|thistle|tomato|turquoise|violet|wheat|white|yellow"
	talk    = "carefully|quickly|furiously|slyly|blithely|ideas|deposits|accounts|pinto beans|packages|theodolites|instructions|sleep|wake|nag|haggle|above the|along the|according to|final|ironic|regular|express|even|silent"
	nations = "ALGERIA 0|ARGENTINA 1|BRAZIL 1|CANADA 1|EGYPT 4|ETHIOPIA 0|FRANCE 3|GERMANY 3|INDIA 2|INDONESIA 2|IRAN 4|IRAQ 4|JAPAN 2|JORDAN 4|KENYA 0|MOROCCO 0|MOZAMBIQUE 0|PERU 1|CHINA 2|ROMANIA 3|SAUDI ARABIA 4|VIETNAM 2|RUSSIA 3|UNITED KINGDOM 3|UNITED STATES 1"
)

func comment(key string, salt int) string {
	return "concat_ws(' ', " + word(key, salt, talk) + ", " + word(key, salt+1, talk) + ", " + word(key, salt+2, talk) + ", " + word(key, salt+3, talk) + ")"
}

func phone(key, nation string) string {
	return fmt.Sprintf("concat_ws('-', %s + 10, %s + 100, %s + 100, %s + 1000)", nation, chance(key, 91, 900), chance(key, 92, 900), chance(key, 93, 9000))
}

// retail is the price of a part in hundredths.
const retail = "(90000 + (%[1]s // 10) %% 20001 + 100 * (%[1]s %% 1000))"

// supplierOf is one of the four suppliers of a part.
func supplierOf(part, which string) string {
	return fmt.Sprintf("((%s + %s * (%d + (%s - 1) // %d)) %% %d + 1)", part, which, suppliers/4, part, suppliers, suppliers)
}

// lines are the rows of lineitem with what orders are made of.
func lines() string {
	key := "o, l"
	order := fmt.Sprintf("SELECT (range // 8) * 32 + range %% 8 + 1 AS o FROM range(%d)", orders)
	dated := "SELECT o, DATE '1992-01-01' + " + chance("o", 1, 2406) + " AS ordered, unnest(range(1, 2 + " + chance("o", 2, 7) + "))::INTEGER AS l FROM (" + order + ")"
	drawn := "SELECT o, ordered, l, 1 + " + chance(key, 3, parts) + " AS part, 1 + " + chance(key, 5, 50) + " AS quantity, ordered + 1 + " + chance(key, 6, 121) +
		" AS shipped, " + chance(key, 7, 11) + " AS discount, " + chance(key, 8, 9) + " AS tax FROM (" + dated + ")"
	return "SELECT *, " + supplierOf("part", chance(key, 4, 4)) + " AS supplier, CAST(quantity * " + fmt.Sprintf(retail, "part") + " AS DECIMAL(15, 2)) * 0.01 AS price, " +
		"shipped + 1 + " + chance(key, 9, 30) + " AS received, shipped > DATE '1995-06-17' AS open FROM (" + drawn + ")"
}

func tpchTables() []tpchTable {
	nation := make([]string, 0, 25)
	for i, n := range strings.Split(nations, "|") {
		at := strings.LastIndexByte(n, ' ')
		nation = append(nation, fmt.Sprintf("(%d, '%s', %s, 'nation %d')", i, n[:at], n[at+1:], i))
	}
	numbered := func(n int) string { return fmt.Sprintf("(SELECT range + 1 AS k FROM range(%d))", n) }
	name := func(what string) string { return "'" + what + "#' || lpad(k::VARCHAR, 9, '0')" }
	cents := func(salt, n int) string { return "CAST(" + chance("k", salt, n) + " AS DECIMAL(15, 2)) * 0.01" }
	balance := cents(13, 1_099_999) + " - 999.99"
	return []tpchTable{
		{
			"region", "r_regionkey INT, r_name CHAR(25), r_comment VARCHAR(152)", "r_regionkey",
			"VALUES (0, 'AFRICA', 'a'), (1, 'AMERICA', 'b'), (2, 'ASIA', 'c'), (3, 'EUROPE', 'd'), (4, 'MIDDLE EAST', NULL)", "'ATLANTIS' AS r_name",
		},
		{"nation", "n_nationkey INT, n_name CHAR(25), n_regionkey INT, n_comment VARCHAR(152)", "n_nationkey", "VALUES " + strings.Join(nation, ", "), "0 AS n_regionkey"},
		{
			"supplier", "s_suppkey BIGINT, s_name CHAR(25), s_address VARCHAR(40), s_nationkey INT, s_phone CHAR(15), s_acctbal DECIMAL(15, 2), s_comment VARCHAR(101)", "s_suppkey",
			"SELECT k, " + name("Supplier") + ", " + comment("k", 40) + ", n, " + phone("k", "n") + ", " + balance +
				", CASE WHEN k % 100 = 17 THEN 'the Customer has had Complaints' ELSE " + comment("k", 50) + " END FROM (SELECT k, " + chance("k", 11, 25) + " AS n FROM " + numbered(suppliers) + ")",
			"0 AS s_acctbal",
		},
		{
			"customer", "c_custkey BIGINT, c_name VARCHAR(25), c_address VARCHAR(40), c_nationkey INT, c_phone CHAR(15), c_acctbal DECIMAL(15, 2), c_mktsegment CHAR(10), c_comment VARCHAR(117)", "c_custkey",
			"SELECT k, " + name("Customer") + ", " + comment("k", 41) + ", n, " + phone("k", "n") + ", " + balance + ", " +
				word("k", 14, "AUTOMOBILE|BUILDING|FURNITURE|MACHINERY|HOUSEHOLD") + ", " + comment("k", 51) + " FROM (SELECT k, " + chance("k", 12, 25) + " AS n FROM " + numbered(customers) + ")",
			"'NONE' AS c_mktsegment",
		},
		{
			"part", "p_partkey BIGINT, p_name VARCHAR(55), p_mfgr CHAR(25), p_brand CHAR(10), p_type VARCHAR(25), p_size INT, p_container CHAR(10), p_retailprice DECIMAL(15, 2), p_comment VARCHAR(23)", "p_partkey",
			"SELECT k, concat_ws(' ', " + word("k", 21, colours) + ", " + word("k", 22, colours) + ", " + word("k", 23, colours) + "), 'Manufacturer#' || m, 'Brand#' || m || (1 + " + chance("k", 25, 5) + "), concat_ws(' ', " +
				word("k", 26, "STANDARD|SMALL|MEDIUM|LARGE|ECONOMY|PROMO") + ", " + word("k", 27, "ANODIZED|BURNISHED|PLATED|POLISHED|BRUSHED") + ", " + word("k", 28, "TIN|NICKEL|BRASS|STEEL|COPPER") + "), 1 + " + chance("k", 29, 50) + ", concat_ws(' ', " +
				word("k", 30, "SM|LG|MED|JUMBO|WRAP") + ", " + word("k", 31, "CASE|BOX|BAG|JAR|PKG|PACK|CAN|DRUM") + "), CAST(" + fmt.Sprintf(retail, "k") + " AS DECIMAL(15, 2)) * 0.01, " + word("k", 32, talk) +
				" FROM (SELECT k, 1 + " + chance("k", 24, 5) + " AS m FROM " + numbered(parts) + ")",
			"0 AS p_size",
		},
		{
			"partsupp", "ps_partkey BIGINT, ps_suppkey BIGINT, ps_availqty INT, ps_supplycost DECIMAL(15, 2), ps_comment VARCHAR(199)", "ps_partkey, ps_suppkey",
			"SELECT k, " + supplierOf("k", "i") + ", 1 + " + chance("k, i", 33, 9999) + ", CAST(100 + " + chance("k, i", 34, 99901) + " AS DECIMAL(15, 2)) * 0.01, " + comment("k, i", 60) + " FROM " + numbered(parts) + ", (SELECT range AS i FROM range(4))",
			"0 AS ps_availqty",
		},
		{
			"orders", "o_orderkey BIGINT, o_custkey BIGINT, o_orderstatus CHAR(1), o_totalprice DECIMAL(15, 2), o_orderdate DATE, o_orderpriority CHAR(15), o_clerk CHAR(15), o_shippriority INT, o_comment VARCHAR(79)", "o_orderkey",
			// Every third customer has no orders.
			"SELECT o, c * 3 // 2 + 1, CASE WHEN allopen THEN 'O' WHEN anyopen THEN 'P' ELSE 'F' END, total, ordered, " + word("o", 71, "1-URGENT|2-HIGH|3-MEDIUM|4-NOT SPECIFIED|5-LOW") +
				", 'Clerk#' || lpad((1 + " + chance("o", 72, 100) + ")::VARCHAR, 9, '0'), 0, CASE WHEN " + chance("o", 73, 80) + " = 0 THEN 'the special and late requests' ELSE " + comment("o", 74) + " END FROM (SELECT o, ordered, " +
				chance("o", 70, customers*2/3) + " AS c, bool_and(open) AS allopen, bool_or(open) AS anyopen, sum(price * (100 + tax) * (100 - discount)) * 0.0001 AS total FROM (" + lines() + ") GROUP BY o, ordered)",
			"0 AS o_totalprice",
		},
		{
			"lineitem", "l_orderkey BIGINT, l_partkey BIGINT, l_suppkey BIGINT, l_linenumber INT, l_quantity DECIMAL(15, 2), l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2), l_returnflag CHAR(1), l_linestatus CHAR(1), l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct CHAR(25), l_shipmode CHAR(10), l_comment VARCHAR(44)", "l_orderkey, l_linenumber",
			"SELECT o, part, supplier, l, quantity, price, discount * 0.01, tax * 0.01, CASE WHEN received > DATE '1995-06-17' THEN 'N' ELSE " + word("o, l", 81, "R|A") + " END, CASE WHEN open THEN 'O' ELSE 'F' END, shipped, ordered + 30 + " +
				chance("o, l", 82, 61) + ", received, " + word("o, l", 83, "DELIVER IN PERSON|COLLECT COD|NONE|TAKE BACK RETURN") + ", " + word("o, l", 84, "REG AIR|AIR|RAIL|SHIP|TRUCK|MAIL|FOB") + ", " + word("o, l", 85, talk) + " FROM (" + lines() + ")",
			"0 AS l_quantity, DATE '2000-01-01' AS l_shipdate",
		},
	}
}
