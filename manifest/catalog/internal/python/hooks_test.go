package python

// Reads returns the number of bytes that reading a source takes.
func Reads(source []byte) int {
	_, reads, _ := read(source)
	return reads
}
