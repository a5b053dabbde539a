package hostiletest

import "fmt"

func one(part func(s *Subject) string) func(s *Subject) []string {
	return func(s *Subject) []string { return []string{part(s)} }
}

// Rows are hostile requests with HTTP/1.
var Rows = []Row{
	// Bodies that are refused before they are read.
	{
		Name: "no credential, the body is there",
		Send: one(func(s *Subject) string { return s.post(s.Body, length(s.Body)) }),
		Want: []int{401}, Usable: true,
	},
	{
		Name: "no credential, the body is withheld",
		Send: one(func(s *Subject) string { return s.post("", length(s.Body)) }),
		Want: []int{401}, Withheld: true,
	},
	{
		Name: "no credential, half of the body is withheld",
		Send: one(func(s *Subject) string { return s.post(s.Body[:len(s.Body)/2], length(s.Body)) }),
		Want: []int{401}, Withheld: true,
	},
	{
		Name: "no credential, chunks without an end",
		Send: one(func(s *Subject) string { return s.post("5\r\n{\"a\":\r\n", "Transfer-Encoding: chunked") }),
		Want: []int{401}, Withheld: true,
	},
	{
		Name: "no credential, the continuation is not asked for and the body withheld",
		Send: one(func(s *Subject) string { return s.post("", length(s.Body), "Expect: 100-continue") }),
		Want: []int{401}, Withheld: true,
	},
	{
		Name: "no credential, a huge body is announced",
		Send: one(func(s *Subject) string { return s.post("{", "Content-Length: 9000000000000") }),
		Want: []int{401},
	},
	{
		Name: "PATCH whose body is withheld",
		Send: one(func(s *Subject) string {
			return s.Request("PATCH "+s.Path+" HTTP/1.1", append([]string{s.Credential, length(s.Body)}, s.Header...), "")
		}),
		Want: []int{405}, Method: "PATCH", Withheld: true,
	},
	{
		Name: "PATCH whose body is there",
		Send: one(func(s *Subject) string {
			return s.Request("PATCH "+s.Path+" HTTP/1.1", append([]string{s.Credential, length(s.Body)}, s.Header...), s.Body)
		}),
		Want: []int{405}, Method: "PATCH", Usable: true,
	},
	{
		Name: "a body that is announced too large, by one byte, and is there",
		Send: one(func(s *Subject) string {
			return s.post(fmt.Sprintf("%*s", s.MaxBody+1, ""), s.Credential, fmt.Sprintf("Content-Length: %d", s.MaxBody+1))
		}),
		Want: []int{413}, Usable: true,
	},
	{
		Name: "a body that is announced too large, by one byte, and withheld",
		Send: one(func(s *Subject) string {
			return s.post("", s.Credential, fmt.Sprintf("Content-Length: %d", s.MaxBody+1))
		}),
		Want: []int{413}, Withheld: true,
	},
}

// Sentinels returns the rows that every handler must pass.
func Sentinels() []Row { return Rows }
