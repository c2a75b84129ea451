// Package load is the workload that offers load to a server: at one rate, as a
// closed loop, or, with the evaluation "search", at whatever rate the search
// for the server's capacity asks for. The engine is package internal/load.
//
// A task is a window: warming up, which is cut; the seconds that are scored;
// and a short time in which the last answers may come. Beside the load it makes
// TCP handshakes with the server, to tell a slow path from a slow server. All
// nodes of a step offer their shares of one load together.
package load
