// Command count_words is a tool: it reads its arguments as JSON from stdin and prints one line of
// JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"unicode"
)

func main() {
	var args struct {
		Text string `json:"text"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&args); err != nil {
		fmt.Fprintln(os.Stderr, `{"error":"the arguments are not JSON"}`)
		os.Exit(1)
	}
	letters := 0
	for _, r := range args.Text {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	fmt.Printf("{\"words\":%d,\"letters\":%d}\n", len(strings.Fields(args.Text)), letters)
}
