package doctor

// Disagreement compares the two verdicts on a response.
var Disagreement = disagreement
