package postgresstore

// OpenRetry is Open with another time in which a call tries again.
var OpenRetry = open
