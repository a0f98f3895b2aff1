package capture

import (
	"net/url"
	"regexp"
	"strings"
)

// masker takes a source's secrets out of text that others wrote, such as ffmpeg's
// messages, which quote URLs whole and in parts.
type masker struct{ secrets *strings.Replacer }

var (
	// The user part of any URL reaches to the last @ of the word.
	urlUser = regexp.MustCompile(`://[^\s'"]*@`)
	// A parameter named like a secret, in a query or a message.
	secretParameter = regexp.MustCompile(`(?i)\b([a-z0-9_.-]*(?:pass|pwd|psw|token|key|secret|auth|sig|cred)[a-z0-9_.-]*)=[^&;\s'"]+`)
)

// shortestSecret bounds what is replaced wherever it occurs: one or two characters
// occur everywhere.
const shortestSecret = 3

func newMasker(source string) masker {
	var pairs []string
	hide := func(secret string) {
		if len(secret) >= shortestSecret {
			pairs = append(pairs, secret, "***")
		}
	}
	if u, err := url.Parse(source); err == nil && u.User != nil {
		password, _ := u.User.Password()
		hide(password)
		hide(url.QueryEscape(password))
		hide(url.PathEscape(password))
		// As it was written, which escaping again need not give.
		if _, user, ok := strings.Cut(source, "://"); ok {
			if at := strings.LastIndexByte(user, '@'); at >= 0 {
				_, raw, _ := strings.Cut(user[:at], ":")
				hide(raw)
			}
		}
	}
	return masker{strings.NewReplacer(pairs...)}
}

// mask returns text without secrets: user parts of URLs, secret-sounding parameters,
// and the source's own password wherever it stands.
func (m masker) mask(text string) string {
	text = urlUser.ReplaceAllString(text, "://***@")
	text = secretParameter.ReplaceAllString(text, "$1=***")
	return m.secrets.Replace(text)
}
