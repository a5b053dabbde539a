//go:build !unix

package benchmarks

func processor() int64 { return 0 }
