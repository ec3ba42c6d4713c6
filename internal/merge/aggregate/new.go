package aggregate

import (
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/tarnerr"
	"github.com/tarnlake/tarn/types"
)

// primaryKey is the function of columns of the key; nobody names it.
const primaryKey = "primary-key"

const removeOnDelete = "aggregation.remove-record-on-delete"

// New makes the function of a name for a field. options are the table's; those of
// the field are read under fields.<field>.*. It fails with Invalid where there is no
// such function, or where it does not take the type of the field or its options.
func New(name string, field types.Field, options map[string]string) (Function, error) {
	c := &column{function: name, name: field.Name, t: field.Type, options: options}
	f, err := types.ArrowField(field)
	if err != nil {
		return nil, err
	}
	c.dt = f.Type
	if field.Type.Root == types.Decimal {
		c.limit = decimal128.GetScaleMultiplier(field.Type.Precision)
	}
	construct, ok := functions[name]
	if !ok {
		return nil, c.invalid("no such aggregate function").WithHint("Aggregate functions are %s.", strings.Join(Names(), ", "))
	}
	if c.ignoreRetract, err = c.flag("ignore-retract"); err != nil {
		return nil, err
	}
	if c.ignoreRetract && strings.EqualFold(strings.TrimSpace(options[removeOnDelete]), "true") {
		return nil, c.invalid("ignoring retractions and removing records on delete exclude each other").
			WithHint("Set either %s or %s.", c.key("ignore-retract"), removeOnDelete)
	}
	return construct(c)
}

// Names are the names that New knows, sorted.
func Names() []string {
	out := make([]string, 0, len(functions))
	for name := range functions {
		if name != primaryKey {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

var functions = map[string]func(*column) (Function, error){
	primaryKey:               chosen(ofKey{}),
	"last_value":             chosen(lastValue{}),
	"last_non_null_value":    chosen(lastNonNull{}),
	"first_value":            chosen(firstValue{}),
	"first_non_null_value":   chosen(firstNonNull{}),
	"first_not_null_value":   chosen(firstNonNull{}), // the name it had once
	"max":                    chosen(extremum{larger: true}),
	"min":                    chosen(extremum{}),
	"bool_and":               newBool(false),
	"bool_or":                newBool(true),
	"sum":                    newSum,
	"product":                newProduct,
	"listagg":                newListagg,
	"collect":                newCollect,
	"merge_map":              newMergeMap,
	"merge_map_with_keytime": newMergeMapWithKeyTime,
	"nested_update":          newNestedUpdate,
	"nested_partial_update":  newNestedPartialUpdate,
	"rbm32":                  newBitmap(union32),
	"rbm64":                  newBitmap(union64),
	"hll_sketch":             newBitmap(unionHLL),
	"theta_sketch":           newBitmap(unionTheta),
}

// column is what a function knows of its column.
type column struct {
	function, name string
	t              types.Type
	dt             arrow.DataType
	ignoreRetract  bool
	limit          decimal128.Num // the first DECIMAL with too many digits
	options        map[string]string
}

func (c *column) key(setting string) string { return "fields." + c.name + "." + setting }

func (c *column) invalid(cause string, kv ...any) *tarnerr.Error {
	kv = append([]any{"function", c.function, "column", c.name, "type", c.t.String()}, kv...)
	return tarnerr.New(tarnerr.Invalid, "aggregating column", cause, kv...)
}

// wants is the error of a function that takes other types.
func (c *column) wants(types string) error {
	return c.invalid("the function takes columns of type "+types+" only").
		WithHint("Choose another function by %s, or another type for the column.", c.key("aggregate-function"))
}

// noRetract is the error of a function that cannot take values back.
func (c *column) noRetract() error {
	return c.invalid("the function cannot take back what a -U or -D row retracts").
		WithHint("Set %s = true to leave such rows out of this column.", c.key("ignore-retract"))
}

func (c *column) flag(setting string) (bool, error) {
	switch v := strings.ToLower(strings.TrimSpace(c.options[c.key(setting)])); v {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, c.badOption(setting, "neither true nor false")
	}
}

func (c *column) number(setting string, otherwise int) (int, error) {
	v, ok := c.options[c.key(setting)]
	if !ok {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 32)
	if err != nil {
		return 0, c.badOption(setting, "not a whole number of 32 bits")
	}
	return int(n), nil
}

// names is a list of names separated by commas, nil where the option is not set.
func (c *column) names(setting string) []string {
	v, ok := c.options[c.key(setting)]
	if !ok {
		return nil
	}
	out := strings.Split(v, ",")
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}

func (c *column) badOption(setting, cause string) error {
	return c.invalid(cause, "option", c.key(setting), "value", c.options[c.key(setting)])
}
