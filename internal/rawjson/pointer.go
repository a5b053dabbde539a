package rawjson

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Token returns "/" and name as a token of a JSON Pointer (RFC 6901).
func Token(name string) string { return "/" + escaper.Replace(name) }

var escaper = strings.NewReplacer("~", "~0", "/", "~1")

var unescaper = strings.NewReplacer("~1", "/", "~0", "~")

// Name returns the name that a token of a JSON Pointer, without its slash, stands for.
func Name(token string) string { return unescaper.Replace(token) }

// Local returns the JSON Pointer of a reference inside one document, such as "#/$defs/order". Its
// fragment may be percent-encoded (RFC 6901, section 6). For any other reference ok is false.
func Local(reference string) (pointer string, ok bool) {
	fragment, ok := strings.CutPrefix(reference, "#")
	if !ok {
		return "", false
	}
	pointer, err := url.PathUnescape(fragment)
	if err != nil || pointer != "" && pointer[0] != '/' {
		return "", false
	}
	return pointer, true
}

// At returns the value in a document that a JSON Pointer refers to. If there is none, ok is false.
func At(doc json.RawMessage, pointer string) (value json.RawMessage, ok bool) {
	if pointer == "" {
		return doc, true
	}
	if pointer[0] != '/' {
		return nil, false
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		name := Name(token)
		if Kind(doc) != '[' {
			if doc = Member(doc, name); doc == nil {
				return nil, false
			}
			continue
		}
		list := slices.Collect(Elements(doc))
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(list) {
			return nil, false
		}
		doc = list[i]
	}
	return doc, true
}
