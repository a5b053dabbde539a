package manifest

// ProgramPath lets the rules for Windows be tested on any system.
var ProgramPath = programPath
