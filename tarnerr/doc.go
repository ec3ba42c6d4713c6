// Package tarnerr names the kinds of failure a caller may act on differently,
// and carries an error's operation, cause, place and way out.
//
// Floor F0. Every exported function of Tarn that fails returns an error whose
// kind is found by [KindOf] or tested by errors.Is(err, tarnerr.Conflict).
package tarnerr
