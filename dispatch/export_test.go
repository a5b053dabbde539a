package dispatch

// CodeMode is what [Main] does before it exits.
var CodeMode = codeMode
