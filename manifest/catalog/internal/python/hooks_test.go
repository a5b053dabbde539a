package python

// Reads tells how many bytes are looked at to read a source.
func Reads(source []byte) int {
	_, reads, _ := read(source)
	return reads
}
