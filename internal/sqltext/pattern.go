package sqltext

import "strings"

// Pattern is what LIKE of a SHOW statement matches names with: % and _ as
// everywhere, or, where it holds * or |, the words of Spark: * for anything, |
// between alternatives.
type Pattern struct {
	Text string
	Not  bool
}

// Matches reports whether the pattern, nil for all, takes name. Case tells no
// names apart.
func (p *Pattern) Matches(name string) bool {
	if p == nil {
		return true
	}
	name, text := strings.ToLower(name), strings.ToLower(p.Text)
	if !strings.ContainsAny(text, "*|") {
		return like(name, text, '%', '_') != p.Not
	}
	for word := range strings.SplitSeq(text, "|") {
		if like(name, strings.TrimSpace(word), '*', 0) {
			return !p.Not
		}
	}
	return p.Not
}

// like matches with any for any run of letters and one for a letter.
func like(name, pattern string, any, one rune) bool {
	n, p := []rune(name), []rune(pattern)
	i, j := 0, 0
	star, from := -1, 0
	for i < len(n) {
		switch {
		case j < len(p) && p[j] == any:
			star, from = j, i
			j++
		case j < len(p) && (p[j] == one && one != 0 || p[j] == n[i]):
			i++
			j++
		case star >= 0: // let the last run take one more
			from++
			i, j = from, star+1
		default:
			return false
		}
	}
	for j < len(p) && p[j] == any {
		j++
	}
	return j == len(p)
}
