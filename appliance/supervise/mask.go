package supervise

import "regexp"

// What may hold a password in a line of text. Each errs towards masking too much: the
// user part of a URL runs to the last @ of the word, since passwords with an @ or a /
// are given unescaped in practice.
var (
	urlUser   = regexp.MustCompile(`://\S*@`)
	secretArg = regexp.MustCompile(`(?i)\b(password|passwd|passphrase|pwd|pass|token|secret|api_?key)=[^&\s"']+`)
	// urlTail is a URL whose end is missing, as in a line that was cut: its user part
	// may be there without the @ that would tell it.
	urlTail = regexp.MustCompile(`://\S*$`)
)

// Mask returns s with user:password of URLs and password=… replaced by ***.
func Mask(s string) string {
	s = urlUser.ReplaceAllString(s, "://***@")
	return secretArg.ReplaceAllString(s, "$1=***")
}

// maskCut is Mask for a text that ends too early.
func maskCut(s string) string {
	if at := urlTail.FindStringIndex(s); at != nil && !urlUser.MatchString(s[at[0]:]) {
		s = s[:at[0]] + "://***"
	}
	return Mask(s)
}
