package llm

import (
	"bytes"
	"encoding/json"
	"mime"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/internal/bounded"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// partText returns the text of a content part, in any of the formats. Of an image, a sound or a
// file it is a text such as "[image image/png, 5120 bytes]": never the data, and never a URL,
// which may be signed. ok is false if a reader needs to see nothing of the part.
func partText(part json.RawMessage) (text string, ok bool) {
	if rawjson.Kind(part) == '"' {
		return rawjson.Unquote(part), true
	}
	switch kind := textOf(part, "type"); kind {
	case "text", "input_text", "output_text", "summary_text", "reasoning_text":
		return textOf(part, "text"), true
	case "logs": // of a code interpreter
		return textOf(part, "logs"), true
	case "refusal":
		return textOf(part, "refusal"), true
	case "image_url", "input_image":
		url := member(part, "image_url")
		if rawjson.Kind(url) == '{' {
			url = rawjson.Member(url, "url")
		}
		return media("image", url, "", nil), true
	case "input_audio":
		sound := member(part, "input_audio")
		return media("audio", nil, textOf(sound, "format"), member(sound, "data")), true
	case "file", "input_file":
		file := part
		if inner := member(part, "file"); inner != nil {
			file = inner
		}
		return media("file", member(file, "file_data"), textOf(file, "filename"), nil), true
	case "image", "document":
		source := member(part, "source")
		if textOf(source, "type") == "text" {
			return textOf(source, "data"), true
		}
		return media(kind, nil, textOf(source, "media_type"), member(source, "data")), true
	case "search_result":
		return "[search result " + bounded.Cut(textOf(part, "title"), maxShown) + "]", true
	case "":
		return geminiPartText(part)
	default:
		return "[" + bounded.Cut(kind, maxShown) + "]", true
	}
}

// geminiPartText returns the text of a part of Gemini's, which has no type.
func geminiPartText(part json.RawMessage) (string, bool) {
	for name, value := range rawjson.Members(part) {
		switch name {
		case "text":
			return rawjson.Unquote(value), true
		case "inlineData", "inline_data":
			return media("data", nil, textOf(value, "mimeType", "mime_type"), member(value, "data")), true
		case "fileData", "file_data":
			return media("file", nil, textOf(value, "mimeType", "mime_type"), nil), true
		}
	}
	return "", false
}

// maxShown bounds what a text in brackets repeats, in bytes.
const maxShown = 100

// media describes data that is left out. dataURL or data, in base64, may be empty. detail is a
// media type or the name of a file.
func media(kind string, dataURL json.RawMessage, detail string, data json.RawMessage) string {
	if head, rest, found := bytes.Cut(dataURL, []byte(";base64,")); found && bytes.HasPrefix(head, []byte(`"data:`)) {
		data = rest
		if mediaType, _, err := mime.ParseMediaType(string(head[len(`"data:`):])); err == nil && detail == "" {
			detail = mediaType
		}
	}
	var b strings.Builder
	b.WriteString("[" + kind)
	if detail != "" {
		b.WriteString(" " + bounded.Cut(detail, maxShown))
	}
	if n := decodedLen(data); n > 0 {
		b.WriteString(", " + strconv.Itoa(n) + " bytes")
	}
	b.WriteString("]")
	return b.String()
}

// decodedLen returns how many bytes a text in base64 stands for. It may have JSON's quotes and
// escapes.
func decodedLen(text []byte) int {
	n := 0
	for _, c := range text {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '+', c == '/', c == '-', c == '_':
			n++
		}
	}
	return n * 3 / 4
}
