//go:build race

package pages

const race = true
